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

// maxShown is how many characters are shown of what a receiver says.
const maxShown = 120

// maxPause is the longest time that a receiver can ask to be left alone for. No
// sweep waits so long; a longer one would overflow.
const maxPause = 24 * time.Hour

// answer is what became of one try.
type answer struct {
	verdict verdict
	// after is how long the receiver asks to be left alone for; zero: it does not.
	after time.Duration
	err   error // why it was not taken
}

type verdict int

const (
	passing verdict = iota // it was not taken, and may be later
	taken
	refused
)

// judge reads an answer to its end, or for as long as it is worth.
func judge(resp *http.Response, secret notify.Secret, now time.Time) answer {
	defer resp.Body.Close()
	// Whatever cannot be read of it is not shown; the code alone decides.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	code := resp.StatusCode
	a := answer{verdict: refused, err: fmt.Errorf("answered %s%s", status(code), excerpt(string(body), secret))}
	switch {
	case code/100 == 2:
		return answer{verdict: taken}
	case code/100 == 3:
		a.err = fmt.Errorf("answered %s, and redirects are not followed: write the URL that it leads to into the config", status(code))
	case code/100 == 5, mayPass(code):
		a.verdict = passing
		a.after = retryAfter(resp.Header.Get("Retry-After"), now)
	}
	return a
}

// mayPass reports whether an answer that blames the sender is one of the moment.
func mayPass(code int) bool {
	switch code {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		// The same Idempotency-Key is at work: an earlier try that was cut off.
		http.StatusConflict:
		return true
	}
	return false
}

// status names a code in our words: the receiver may send any.
func status(code int) string {
	if text := http.StatusText(code); text != "" {
		return strconv.Itoa(code) + " " + text
	}
	return strconv.Itoa(code)
}

// retryAfter reads the header that says in how many seconds, or when, to come back:
// zero where it does not. It is a second at least, so that nobody is asked at once
// for ever.
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

// noAnswer is what becomes of a try that failed on the way. The text of the error
// may hold what the other side sent, the URL, and the address of a proxy.
func noAnswer(err error, secret notify.Secret) answer {
	if errors.Is(err, context.DeadlineExceeded) {
		return answer{err: fmt.Errorf("it did not answer within %s", timeout)}
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // the same without the URL
	}
	return answer{err: errors.New(shown(credentials.ReplaceAllString(err.Error(), "//<secret>@"), secret))}
}

var credentials = regexp.MustCompile(`//[^/\s]*@`)

// excerpt returns the beginning of what a receiver says, to stand behind its code.
func excerpt(body string, secret notify.Secret) string {
	said := secret.Redact(body)
	if len(body) == maxAnswer {
		// It may end in half a secret, which was not found.
		said = said[:max(0, len(said)-len(secret.Reveal()))]
	}
	if said = shown(said, secret); said != "" {
		return ": " + said
	}
	return ""
}

// shown returns text of others on one line, short, without the secret, and so that
// all of it can be seen.
func shown(text string, secret notify.Secret) string {
	text = visible.Text(strings.Join(strings.Fields(secret.Redact(text)), " "))
	// Clipped last, for half a secret would not be found.
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown-1]) + "…"
	}
	return text
}
