package slack_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// Whatever goes wrong, no error shows the token or the URL of the webhook.
func TestErrorsShowNoSecret(t *testing.T) {
	faults := []fakeslack.Fault{
		{Status: 302},
		{Status: 400},
		{Status: 401},
		{Status: 404},
		{Status: 429},
		{Status: 500},
		{Cut: true},
		{Cut: true, Stored: true},
		{Hang: true},
		{Error: "invalid_auth"},
		{Error: "no_service"},
		{Error: token},
		{Error: hookURI},
		{Error: "ratelimited"},
		{Error: "fatal_error"},
		{Error: "invalid_blocks"},
		{Error: "thread_not_found"},
		{Status: 200},
	}
	var errs []error
	for name, make := range senders() {
		for _, f := range faults {
			clock := newTicker()
			slackd := workspace(t, clock)
			by, address := make(slackd, clock)
			ctx, cancel := context.WithCancel(t.Context())
			slackd.Faults(func(fakeslack.Request) fakeslack.Fault {
				if f.Hang {
					cancel()
				}
				return f
			})
			_, err := by.Send(ctx, to(address), one(t, by), audit.MessageRef{})
			cancel()
			if err == nil {
				t.Errorf("%s: %+v is no error", name, f)
			}
			errs = append(errs, err)
		}
	}
	errs = append(errs, unreachable(t)...)
	errs = append(errs, indiscreet(t)...)
	for _, err := range errs {
		for _, way := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err), fmt.Sprintf("%q", err)} {
			if strings.Contains(way, "hunter2") || strings.Contains(way, "123456-") || strings.Contains(way, "/services/") {
				t.Errorf("an error shows the secret: %s", way)
			}
		}
	}
}

// unreachable are the errors of senders that find nobody, or no secret.
func unreachable(t *testing.T) []error {
	t.Helper()
	var errs []error
	options := sender.Options{Clock: newTicker().clock()}
	for _, address := range []string{
		"http://127.0.0.1:1" + hookURI, "https://127.0.0.1:1" + hookURI, "http://user:hunter2@127.0.0.1:1" + hookURI, "hunter2://127.0.0.1:1/",
		"http://[::hunter2]" + hookURI, "http://127.0.0.1:1/%zzhunter2", "hunter2", "http://127.0.0.1:1",
	} {
		for _, hosts := range [][]string{nil, {"127.0.0.1:1"}} {
			hook := sender.NewWebhook(func(string) (notify.Secret, error) { return notify.NewSecret([]byte(address)) }, hosts, options)
			_, err := hook.Send(t.Context(), to("file"), one(t, hook), audit.MessageRef{})
			errs = append(errs, err)
		}
	}
	for _, bot := range []*sender.Bot{
		sender.NewBot(secret(token), "http://127.0.0.1:1/", options), sender.NewBot(secret("hunter2 hunter2"), "http://127.0.0.1:1/", options),
	} {
		_, err := bot.Send(t.Context(), to(channel), one(t, bot), audit.MessageRef{})
		errs = append(errs, err)
	}
	for n, err := range errs {
		if err == nil {
			t.Errorf("case %d is no error", n)
		}
	}
	return errs
}

// gossip is a way to Slack that fails and tells all it knows.
type gossip struct{}

func (gossip) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	return nil, fmt.Errorf("proxy http://me:hunter2@proxy failed on %s %s: %s: %s", r.URL, r.URL.Path, form.Get("token"), body)
}

// indiscreet are the errors of senders whose way to Slack is like that.
func indiscreet(t *testing.T) []error {
	t.Helper()
	options := sender.Options{Clock: newTicker().clock(), Transport: gossip{}}
	bot := sender.NewBot(secret(token), "https://slack.example/api/", options)
	_, byBot := bot.Send(t.Context(), to(channel), one(t, bot), audit.MessageRef{})
	hook := sender.NewWebhook(func(string) (notify.Secret, error) {
		return notify.NewSecret([]byte("https://hooks.slack.com" + hookURI))
	}, nil, options)
	_, byHook := hook.Send(t.Context(), to("file"), one(t, hook), audit.MessageRef{})
	for _, err := range []error{byBot, byHook} {
		if err == nil || !strings.Contains(err.Error(), "proxy") {
			t.Errorf("the error is %v", err)
		}
	}
	return []error{byBot, byHook}
}
