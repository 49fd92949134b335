package webhook

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/visible"
)

const (
	// timeout bounds one try, including its response. A receiver that opens tickets may
	// be slow, and one that is cut off may get a digest twice.
	timeout = 20 * time.Second
	// maxResponse is how many bytes of a response's body are read, and maxShown how many
	// characters of it errors show.
	maxResponse = 4 << 10
	maxShown    = 120
	// maxPause is the longest pause that a receiver can ask for. No sweep waits so long; a
	// longer one would overflow.
	maxPause = 24 * time.Hour
)

// response is the result of one try.
type response struct {
	outcome outcome
	after   time.Duration // the pause that the receiver asks for, or zero
	err     error         // why the digest was not accepted
	lost    bool          // it may have been accepted all the same
}

type outcome int

const (
	transient outcome = iota // another try may succeed
	accepted
	refused
)

// classify reads and closes a response.
func classify(resp *http.Response, secret notify.Secret, now time.Time) response {
	defer resp.Body.Close()
	// The body is only shown, so an error while reading it does not matter.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	code := resp.StatusCode
	r := response{outcome: refused, err: fmt.Errorf("status %s%s", status(code), excerpt(string(body), secret))}
	switch {
	case code/100 == 2:
		return response{outcome: accepted}
	case code/100 == 3:
		r.err = fmt.Errorf("status %s: redirects are not followed, set webhook.url to the target of the redirect", status(code))
	case code/100 == 5, isTransient(code):
		r.outcome = transient
		r.after = retryAfter(resp.Header.Get("Retry-After"), now)
		// A proxy responds with a 5xx if it has lost the connection after it passed the
		// request on. Only a receiver that says when to come back has not accepted it.
		r.lost = code/100 == 5 && r.after == 0 || code == http.StatusConflict
	}
	return r
}

// unconfirmedError is the error of a digest that may have arrived.
type unconfirmedError struct{ error }

func (e *unconfirmedError) Unwrap() []error { return []error{e.error, notify.ErrUnconfirmed} }

// isTransient reports whether a 4xx status may go away by itself.
func isTransient(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		// An earlier try with the same Idempotency-Key, which was cut off, is in progress.
		http.StatusConflict:
		return true
	}
	return false
}

// status names a code. The text that the receiver sends with it is not trusted.
func status(code int) string {
	if text := http.StatusText(code); text != "" {
		return strconv.Itoa(code) + " " + text
	}
	return strconv.Itoa(code)
}

// retryAfter parses the Retry-After header, a number of seconds or a time. It returns zero
// if the header is missing or invalid, and at least a second otherwise, so that the
// receiver is not called in a tight loop.
func retryAfter(header string, now time.Time) time.Duration {
	var d time.Duration
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		d = at.Sub(now)
	} else {
		return 0
	}
	return min(max(d, time.Second), maxPause)
}

// noResponse is the result of a try without a response. The text of the error may
// contain what the other side sent, the URL, and the password of a proxy.
func noResponse(err error, secret notify.Secret) response {
	if errors.Is(err, context.DeadlineExceeded) {
		return response{err: fmt.Errorf("no response within %s", timeout)}
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the URL
	}
	return response{err: errors.New(shown(credentials.ReplaceAllString(err.Error(), "//<secret>@"), secret))}
}

var credentials = regexp.MustCompile(`//[^/\s]*@`)

// excerpt returns the beginning of a response's body, to follow its status.
func excerpt(body string, secret notify.Secret) string {
	text := secret.Redact(body)
	if len(body) == maxResponse {
		// It may end in half a secret, which was not found.
		text = text[:max(0, len(text)-len(secret.Reveal()))]
	}
	if text = shown(text, secret); text != "" {
		return ": " + text
	}
	return ""
}

// shown returns untrusted text on one short line, without the secret and with everything
// visible.
func shown(text string, secret notify.Secret) string {
	// Cut last: half a secret would not be found.
	return visible.Short(strings.Join(strings.Fields(secret.Redact(text)), " "), maxShown)
}
