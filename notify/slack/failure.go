package slack

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/notify/visible"
)

// outcome is what an answer of Slack means for the message.
type outcome uint8

const (
	sent     outcome = iota
	limited          // later, as long as Slack says
	passing          // may pass: soon, or with the next sweep
	homeless         // there is no such message to reply to
	gone             // there is no such channel, or none to post into
	tooRich          // the blocks are refused, and the text may do
	ended            // the time for it is over
	refused          // for good
)

// failure is an answer that is none, as it may be shown.
type failure struct {
	outcome outcome
	after   time.Duration // of limited
	text    string
	cause   error // of ended: that of the context
}

// The words of Slack that mean something else than a refusal for good.
var (
	passingWords  = []string{"fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org", "message_limit_exceeded"}
	limitedWords  = []string{"ratelimited", "rate_limited"}
	homelessWords = []string{
		"thread_not_found", "invalid_thread_ts", "cannot_reply_to_message",
		"restricted_action_thread_locked", "restricted_action_non_threadable_channel",
	}
	goneWords    = []string{"channel_not_found", "not_in_channel", "is_archived"}
	tooRichWords = []string{"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"}
)

// hints say to whoever runs the tool what a refusal wants of them.
func hint(word string) string {
	switch word {
	case "not_in_channel":
		return ": invite the app to the channel"
	case "channel_not_found":
		return ": the ID is wrong, or the channel is private and the app was not invited"
	case "is_archived", "channel_is_archived":
		return ": the channel is archived"
	case "invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive":
		return ": the token is not accepted"
	case "missing_scope":
		return ": the app needs the scope chat:write"
	case "no_service":
		return ": the webhook was removed"
	}
	return ""
}

// errNoAnswer is of a success that is none.
var errNoAnswer = errors.New("the answer is none of Slack's")

// patience is how long a 429 means that does not say it.
const patience = 30 * time.Second

// judge says what became of a call. Texts of others are made visible and clipped;
// what Slack answers is a word of its API or not shown.
func judge(ctx context.Context, err error) failure {
	var rate *slack.RateLimitedError
	var status slack.StatusCodeError
	var said slack.SlackErrorResponse
	var hook *webhookError
	switch {
	case err == nil:
		return failure{}
	case errors.As(err, &rate):
		return failure{outcome: limited, after: max(rate.RetryAfter, interval), text: "too many messages"}
	case errors.As(err, &status):
		return ofStatus(status.Code, "")
	case errors.As(err, &hook):
		return ofStatus(hook.status, hook.word)
	case errors.As(err, &said):
		return ofWord(said.Err)
	case ctx.Err() != nil:
		return failure{outcome: ended, text: "no answer until the time was over", cause: ctx.Err()}
	}
	var where *url.Error
	if errors.As(err, &where) {
		err = where.Err // the rest is the method and the URL
	}
	return failure{outcome: passing, text: visible.Text(err.Error())}
}

// ofWord judges a word that Slack gives for a failure.
func ofWord(word string) failure {
	f := failure{outcome: refused, text: plainWord(word) + hint(word)}
	switch {
	case slices.Contains(limitedWords, word):
		f.outcome, f.after = limited, patience
	case slices.Contains(passingWords, word):
		f.outcome = passing
	case slices.Contains(homelessWords, word):
		f.outcome = homeless
	case slices.Contains(goneWords, word):
		f.outcome = gone
	case slices.Contains(tooRichWords, word):
		f.outcome = tooRich
	}
	return f
}

// ofStatus judges an HTTP status that is no success, with the word that came with
// it, if any.
func ofStatus(code int, word string) failure {
	text := http.StatusText(code)
	switch {
	case code == http.StatusTooManyRequests:
		return failure{outcome: limited, after: patience, text: text}
	case code >= 500 || code == http.StatusRequestTimeout || code == http.StatusTooEarly:
		return failure{outcome: passing, text: text}
	case apiWord.MatchString(word):
		return ofWord(word)
	case code >= 300 && code < 400:
		return failure{outcome: refused, text: "it answers with a redirect, which is not followed"}
	}
	return failure{outcome: refused, text: text}
}

var apiWord = regexp.MustCompile(`^[a-z0-9_]{1,60}$`)

func plainWord(s string) string {
	if apiWord.MatchString(s) {
		return s
	}
	return "a word that is none of its API"
}
