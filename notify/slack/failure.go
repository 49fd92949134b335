package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/visible"
)

// outcome is what a response means for the message.
type outcome uint8

const (
	sent           outcome = iota
	rateLimited            // try again after the time that Slack gives
	transient              // it did not arrive: try again soon, or in the next sweep
	unconfirmed            // it may have arrived: another try may be a copy
	keyRejected            // without the key, it may be accepted
	threadGone             // the message to reply to does not exist
	channelGone            // the channel does not exist, or cannot be posted to
	blocksRejected         // the text alone may be accepted
	ended                  // the context ended
	refused                // permanently
)

// failure is what became of a call, in words that are safe to show.
type failure struct {
	outcome outcome
	after   time.Duration // of rateLimited, and of transient if Slack gives one
	text    string
	cause   error // that of the context, if it ended
}

// Slack's error codes that are not a permanent refusal.
var (
	transientCodes = []string{"request_timeout", "service_unavailable", "team_added_to_org", "message_limit_exceeded"}
	// Slack's reference says of both: "It's possible some aspect of the operation
	// succeeded before the error was raised."
	unconfirmedCodes = []string{"fatal_error", "internal_error"}
	rateLimitedCodes = []string{"ratelimited", "rate_limited"}
	threadGoneCodes  = []string{
		"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message",
		"restricted_action_thread_locked", "restricted_action_non_threadable_channel",
	}
	channelGoneCodes    = []string{"channel_not_found", "not_in_channel", "is_archived"}
	blocksRejectedCodes = []string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"}
	// See clientMessageID.
	keyRejectedCodes = []string{"duplicate_message_not_found", "duplicate_channel_not_found", "invalid_arguments", "invalid_arg_name"}
)

// hint says what to do about an error code.
func hint(code string) string {
	switch code {
	case "not_in_channel":
		return ": invite the app to the channel"
	case "channel_not_found":
		return ": check the ID, and invite the app if the channel is private"
	case "is_archived", "channel_is_archived":
		return ": unarchive the channel, or configure another one"
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive":
		return ": check the bot token"
	case "missing_scope":
		return ": add the scope chat:write to the app"
	case "no_service":
		return ": the webhook was removed, create another one"
	}
	return ""
}

// errNotSlack is the error of a success without what Slack returns.
var errNotSlack = errors.New("the response did not come from Slack")

// defaultWait is how long to wait after a 429 that does not say it.
const defaultWait = 30 * time.Second

// webhookError is a webhook's response that is not a success.
type webhookError struct {
	status int
	code   string
}

func (e *webhookError) Error() string { return http.StatusText(e.status) }

// classify says what became of a call, which the context was given for and which may have
// reached Slack or not. Untrusted text is made visible; Slack's response is shown only if
// it is an error code.
func classify(ctx context.Context, err error, mayHaveArrived bool) failure {
	var rate *slack.RateLimitedError
	var status slack.StatusCodeError
	var api slack.SlackErrorResponse
	var hook *webhookError
	var busy *unavailableError
	switch {
	case err == nil:
		return failure{}
	case errors.As(err, &busy):
		return failure{outcome: transient, after: busy.after, text: busy.Error()}
	case errors.As(err, &rate):
		return failure{outcome: rateLimited, after: max(rate.RetryAfter, interval), text: "too many messages"}
	case errors.As(err, &status):
		return ofStatus(status.Code, "")
	case errors.As(err, &hook):
		return ofStatus(hook.status, hook.code)
	case errors.As(err, &api):
		return ofCode(api.Err)
	case ctx.Err() != nil && !mayHaveArrived:
		return failure{outcome: ended, text: "no connection in time", cause: ctx.Err()}
	case ctx.Err() != nil:
		return failure{outcome: unconfirmed, text: "no response in time", cause: ctx.Err()}
	}
	var where *url.Error
	if errors.As(err, &where) {
		err = where.Err // without the method and the URL
	}
	f := failure{outcome: transient, text: visible.Text(err.Error())}
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		f.text = "no response in time"
	}
	if mayHaveArrived {
		f.outcome = unconfirmed
	}
	return f
}

// ofCode classifies one of Slack's error codes.
func ofCode(code string) failure {
	f := failure{outcome: refused, text: code + hint(code)}
	if !errorCode.MatchString(code) {
		f.text = "unknown error"
	}
	switch {
	case slices.Contains(rateLimitedCodes, code):
		f.outcome, f.after = rateLimited, defaultWait
	case slices.Contains(transientCodes, code):
		f.outcome = transient
	case slices.Contains(unconfirmedCodes, code):
		f.outcome = unconfirmed
	case slices.Contains(keyRejectedCodes, code):
		f.outcome = keyRejected
	case slices.Contains(threadGoneCodes, code):
		f.outcome = threadGone
	case slices.Contains(channelGoneCodes, code):
		f.outcome = channelGone
	case slices.Contains(blocksRejectedCodes, code):
		f.outcome = blocksRejected
	}
	return f
}

// unavailableError is a 503 by which Slack says that it has not accepted the message.
type unavailableError struct {
	code  string
	after time.Duration
}

func (e *unavailableError) Error() string {
	return cmp.Or(e.code, http.StatusText(http.StatusServiceUnavailable))
}

// readUnavailable is a transport that turns such a 503 into an unavailableError: the
// library hides the header and the body. Slack documents the code service_unavailable
// ("The service is temporarily unavailable"), and of HTTP statuses only 429. So a 503
// counts as not accepted if it has that code, or says when to come back. A proxy that has
// lost the connection after it passed the request on responds with any other 5xx, or with
// a page of its own.
type readUnavailable struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t readUnavailable) RoundTrip(r *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
		return resp, err
	}
	defer resp.Body.Close()
	// A body that can't be read has no code.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var said struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) != nil {
		said.Error = strings.TrimSpace(string(body)) // a webhook's response
	}
	busy := &unavailableError{}
	if !said.OK && slices.Contains(transientCodes, said.Error) {
		busy.code = said.Error
	}
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); err == nil {
		busy.after = max(time.Duration(seconds)*time.Second, time.Second)
	}
	if *busy == (unavailableError{}) {
		return resp, nil
	}
	return nil, busy
}

// ofStatus classifies an HTTP status that is not a success, with Slack's error code if
// the response has one. A proxy responds with any 5xx if it has lost the connection after
// it passed the request on; see readUnavailable for 503.
func ofStatus(status int, code string) failure {
	text := http.StatusText(status)
	switch {
	case status == http.StatusTooManyRequests:
		return failure{outcome: rateLimited, after: defaultWait, text: text}
	case status >= 500:
		return failure{outcome: unconfirmed, text: text}
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly:
		return failure{outcome: transient, text: text}
	case errorCode.MatchString(code):
		return ofCode(code)
	case status >= 300 && status < 400:
		return failure{outcome: refused, text: "it responded with a redirect, which is not followed"}
	}
	return failure{outcome: refused, text: text}
}

var errorCode = regexp.MustCompile(`^[a-z0-9_]{1,60}$`)

// sendError is an error of Send. Its text is safe to show, and it keeps only the part of
// the cause that callers use.
type sendError struct {
	text   string
	causes []error // ErrRefused, ErrUnconfirmed, that of a context, or none
}

func (e *sendError) Error() string   { return e.text }
func (e *sendError) Unwrap() []error { return e.causes }

// newError returns an error that shows neither the secret, nor the path of a secret URL,
// nor the password of a proxy.
func newError(doing string, f failure, secret notify.Secret) error {
	text := secret.Redact(f.text)
	if _, path, ok := strings.Cut(secret.Reveal(), "//"); ok {
		if _, path, ok = strings.Cut(path, "/"); ok && path != "" {
			text = strings.ReplaceAll(text, path, secret.String())
		}
	}
	text = userinfo.ReplaceAllString(text, "//"+secret.String()+"@")
	// Cut last: half a secret would not be recognized.
	e := &sendError{text: doing + ": " + visible.Short(text, maxProse)}
	if f.cause != nil {
		e.causes = append(e.causes, f.cause)
	}
	switch f.outcome {
	case threadGone, channelGone, blocksRejected, keyRejected, refused:
		e.causes = append(e.causes, notify.ErrRefused)
	case unconfirmed:
		e.text += " (the message may have arrived)"
		e.causes = append(e.causes, notify.ErrUnconfirmed)
	}
	return e
}

var userinfo = regexp.MustCompile(`//[^/@\s]*@`)
