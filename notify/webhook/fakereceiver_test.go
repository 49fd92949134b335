package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/webhook"
)

const hidden = "5f2c-the-key-of-nobody-9e1d"

// receiver is a receiver as docs/webhook.md describes: it accepts what has a valid and recent
// signature.
type receiver struct {
	mu     sync.Mutex
	bodies []string // taken, in the order in which they arrived
	keys   []string
	seen   []http.Header // of every request
	// answer is called first, with the number of the request. It returns true if it has
	// responded.
	answer func(w http.ResponseWriter, n int) bool
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, "read: "+err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, req.Header)
	if r.answer != nil && r.answer(w, len(r.seen)) {
		return
	}
	if err := check(req, body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.bodies = append(r.bodies, string(body))
	r.keys = append(r.keys, req.Header.Get("Idempotency-Key"))
	w.WriteHeader(http.StatusAccepted)
}

// requests returns the number of requests so far.
func (r *receiver) requests() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen)
}

func check(req *http.Request, body []byte) error {
	sum := sha256.Sum256(body)
	switch {
	case req.Method != http.MethodPost:
		return fmt.Errorf("method %s", req.Method)
	case req.Header.Get("Content-Type") != "application/json":
		return fmt.Errorf("content type %q", req.Header.Get("Content-Type"))
	case req.Header.Get("User-Agent") != "audit/v1.2.3":
		return fmt.Errorf("user agent %q", req.Header.Get("User-Agent"))
	case req.Header.Get("Idempotency-Key") != strconv.Quote(hex.EncodeToString(sum[:])):
		return fmt.Errorf("key %s", req.Header.Get("Idempotency-Key"))
	case req.ContentLength != int64(len(body)):
		return fmt.Errorf("length %d", req.ContentLength)
	}
	if err := verify(hidden, req.Header.Get(webhook.SignatureHeader), body, time.Now()); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	var d webhook.Digest
	if err := dec.Decode(&d); err != nil {
		return err
	}
	if d.Kind != "Digest" || d.Owner == "" || len(d.Items) == 0 {
		return fmt.Errorf("digest of kind %q for %q with %d items", d.Kind, d.Owner, len(d.Items))
	}
	return nil
}

// verify is docs/webhook.md's function in Go.
func verify(secret, header string, body []byte, now time.Time) error {
	var times, signatures []string
	for field := range strings.SplitSeq(header, ",") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "t":
			times = append(times, value)
		case "v1":
			signatures = append(signatures, value)
		}
	}
	if len(times) != 1 {
		return fmt.Errorf("%d times", len(times))
	}
	seconds, err := strconv.ParseInt(times[0], 10, 64)
	if err != nil {
		return fmt.Errorf("time %q", times[0])
	}
	if age := now.Sub(time.Unix(seconds, 0)).Abs(); age > 5*time.Minute {
		return fmt.Errorf("signed %s from now", age)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s", times[0], body)
	want := hex.EncodeToString(mac.Sum(nil))
	for _, s := range signatures {
		if hmac.Equal([]byte(s), []byte(want)) {
			return nil
		}
	}
	return fmt.Errorf("none of %d signatures matches", len(signatures))
}

// direct carries requests to a handler without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	d.ServeHTTP(rec, req)
	return rec.Result(), nil
}

func secret() (notify.Secret, error) { return notify.NewSecret([]byte(hidden + "\n")) }

func newSender(t testing.TB, url string, transport http.RoundTripper) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(webhook.Options{URL: url, Secret: secret, Version: "v1.2.3", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// send sends a digest as the deliverer would, and returns the first error.
func send(ctx context.Context, s *webhook.Sender, d notify.Digest) error {
	for _, m := range s.Plan(d) {
		if _, err := s.Send(ctx, d.To, m, audit.MessageRef{}); err != nil {
			return err
		}
	}
	return nil
}
