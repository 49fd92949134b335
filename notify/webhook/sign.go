package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/eventuallytrue/audit/notify"
)

// SignatureHeader is the header with the time of sending and the signature:
// t=<Unix seconds>,v1=<hex>. The signature is the HMAC-SHA256 of the time as it
// stands there, a full stop, and the body.
const SignatureHeader = "X-Audit-Signature"

// sign sets the headers that a receiver knows a message by. The key is a string in
// quotes, as draft-ietf-httpapi-idempotency-key-header has it.
func sign(h http.Header, secret notify.Secret, p payload, now time.Time) {
	t := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret.Reveal()))
	mac.Write([]byte(t + "."))
	mac.Write(p.json)
	h.Set(SignatureHeader, "t="+t+",v1="+hex.EncodeToString(mac.Sum(nil)))
	h.Set("Idempotency-Key", strconv.Quote(p.key))
}
