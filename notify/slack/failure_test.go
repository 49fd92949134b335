package slack_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// one is a message that is not a reply.
func one(t *testing.T, by notify.Sender) notify.Message {
	t.Helper()
	return by.Plan(digest(1, items(audit.EventResolved, audit.MessageRef{}, resolved(host("shop.example.com", "team-a"), audit.ReasonResolved))))[0]
}

func to(address string) notify.Recipient {
	return notify.Recipient{Owner: "team-a", Address: address, Mention: mention}
}

// Each row is how Slack fails, how long the sender waits, how many messages arrive, and the
// error.
func TestFailures(t *testing.T) {
	s := time.Second
	repeat := func(n int, f fakeslack.Fault) []fakeslack.Fault { return slices.Repeat([]fakeslack.Fault{f}, n) }
	tests := []struct {
		name     string
		faults   []fakeslack.Fault
		slept    []time.Duration
		arrived  int
		want     string // of the error; "" for none
		refusing bool
	}{
		{"no failure", nil, nil, 1, "", false},
		{"too many messages, once", repeat(1, fakeslack.Fault{Status: 429, RetryAfter: 7 * s}), []time.Duration{7 * s}, 1, "", false},
		{"too many messages, five times", repeat(5, fakeslack.Fault{Status: 429, RetryAfter: 2 * s}), slices.Repeat([]time.Duration{2 * s}, 5), 1, "", false},
		{"too many messages, without a time", repeat(1, fakeslack.Fault{Status: 429}), []time.Duration{30 * s}, 1, "", false},
		{"a request that Slack did not get whole", repeat(2, fakeslack.Fault{Status: 408}), []time.Duration{2 * s, 4 * s}, 1, "", false},
		{"a server error", repeat(9, fakeslack.Fault{Status: 500}), nil, 0, "Internal Server Error (the message may have arrived)", false},
		{"a server error after the message", repeat(9, fakeslack.Fault{Status: 502, Stored: true}), nil, 1, "Bad Gateway (the message may have arrived)", false},
		{"a proxy that lost the connection", repeat(9, fakeslack.Fault{Status: 503, Stored: true}), nil, 1, "Service Unavailable (the message may have arrived)", false},
		{"maintenance that says so", repeat(2, fakeslack.Fault{Status: 503, Error: "service_unavailable"}), []time.Duration{2 * s, 4 * s}, 1, "", false},
		{"maintenance that does not end", repeat(9, fakeslack.Fault{Status: 503, Error: "service_unavailable"}), []time.Duration{2 * s, 4 * s}, 0, "service_unavailable", false},
		{"maintenance for a time", repeat(1, fakeslack.Fault{Status: 503, RetryAfter: 20 * s}), []time.Duration{20 * s}, 1, "", false},
		{"a 503 that some proxy explains", repeat(9, fakeslack.Fault{Status: 503, Error: "upstream_reset", Stored: true}), nil, 1, "Service Unavailable (the message may have arrived)", false},
		{"a broken connection", repeat(9, fakeslack.Fault{Cut: true}), nil, 0, "EOF (the message may have arrived)", false},
		{"a connection that breaks after the message", repeat(9, fakeslack.Fault{Cut: true, Stored: true}), nil, 1, "EOF (the message may have arrived)", false},
		{"a success without a message", repeat(9, fakeslack.Fault{Status: 200}), nil, 0, "(the message may have arrived)", false},
		{"a redirect", repeat(9, fakeslack.Fault{Status: 302}), nil, 0, "redirect", true},
		{"a response from another server", repeat(9, fakeslack.Fault{Status: 403}), nil, 0, "Forbidden", true},
	}
	for _, test := range tests {
		for name, make := range senders() {
			t.Run(test.name+" by "+name, func(t *testing.T) {
				clock := newTicker()
				slackd := workspace(t, clock)
				by, address := make(slackd, clock)
				slackd.FailNext(test.faults...)
				_, err := by.Send(t.Context(), to(address), one(t, by), audit.MessageRef{})
				check(t, err, test.want, test.refusing)
				if !slices.Equal(clock.slept, test.slept) || len(slackd.Messages()) != test.arrived {
					t.Errorf("it slept %v and %d messages arrived, want %v and %d", clock.slept, len(slackd.Messages()), test.slept, test.arrived)
				}
			})
		}
	}
}

// senders returns a constructor of each sender, which also returns the recipient's address.
func senders() map[string]func(*fakeslack.Server, *ticker) (notify.Sender, string) {
	return map[string]func(*fakeslack.Server, *ticker) (notify.Sender, string){
		"bot":     func(s *fakeslack.Server, c *ticker) (notify.Sender, string) { return newBot(s, c), channel },
		"webhook": func(s *fakeslack.Server, c *ticker) (notify.Sender, string) { return newWebhook(s, c), hookURI },
	}
}

func check(t *testing.T, err error, want string, refusing bool) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("the error is %v, want %q", err, want)
	}
	if errors.Is(err, notify.ErrRefused) != refusing {
		t.Errorf("wrapping ErrRefused is %v in %v", !refusing, err)
	}
	if err != nil && errors.Is(err, notify.ErrUnconfirmed) != strings.Contains(err.Error(), "may have arrived") {
		t.Errorf("wrapping ErrUnconfirmed is %v in %v", errors.Is(err, notify.ErrUnconfirmed), err)
	}
}

// Each row is one of Slack's error codes, and whether it is permanent.
func TestWords(t *testing.T) {
	for word, refusing := range map[string]bool{
		"channel_not_found": true, "not_in_channel": true, "is_archived": true, "invalid_auth": true, "token_revoked": true,
		"account_inactive": true, "missing_scope": true, "restricted_action": true, "a_word_of_tomorrow": true,
		"internal_error": false, "fatal_error": false, "service_unavailable": false, "ratelimited": false,
	} {
		clock := newTicker()
		slackd := workspace(t, clock)
		by := newBot(slackd, clock)
		slackd.Faults(func(fakeslack.Request) fakeslack.Fault { return fakeslack.Fault{Error: word} })
		_, err := by.Send(t.Context(), to(channel), one(t, by), audit.MessageRef{})
		want := word
		check(t, err, want, refusing)
		final := refusing || errors.Is(err, notify.ErrUnconfirmed)
		if n := len(slackd.Requests()); final != (n == 1) {
			t.Errorf("%s: %d calls", word, n)
		}
	}
}

// What Slack returns for wrong channels, tokens and webhooks.
func TestRefusals(t *testing.T) {
	clock := newTicker()
	slackd := workspace(t, clock)
	bot, hook := newBot(slackd, clock), newWebhook(slackd, clock)
	stranger := sender.NewBot(secret("xoxb-other"), slackd.APIURL(), sender.Options{Clock: clock.clock()})
	abroad := sender.NewWebhook(func(string) (notify.Secret, error) { return notify.NewSecret([]byte(slackd.URL() + hookURI)) }, nil, sender.Options{Clock: clock.clock()})
	for _, test := range []struct {
		name    string
		by      notify.Sender
		address string
		want    string
	}{
		{"no such channel", bot, "C99", "post to channel C99: channel_not_found"},
		{"not invited", bot, "C03", "post to channel C03: not_in_channel: invite the app to the channel"},
		{"archived", bot, "C04", "post to channel C04: is_archived"},
		{"another token", stranger, channel, "invalid_auth: check the bot token"},
		{"no such webhook", hook, "/services/none", "post to the webhook of team-a: no_service: the webhook was removed, create another one"},
		{"a webhook that is not at Slack", abroad, hookURI, "it does not start with https://hooks.slack.com/"},
	} {
		_, err := test.by.Send(t.Context(), to(test.address), one(t, test.by), audit.MessageRef{})
		if err == nil || !strings.Contains(err.Error(), test.want) || !errors.Is(err, notify.ErrRefused) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	if n := len(slackd.Messages()); n != 0 {
		t.Errorf("%d messages arrived", n)
	}
}

// A message that another sender planned is refused without a call.
func TestForeignMessage(t *testing.T) {
	for name, make := range senders() {
		clock := newTicker()
		slackd := workspace(t, clock)
		by, address := make(slackd, clock)
		_, err := by.Send(t.Context(), to(address), notify.Message{Body: "x"}, audit.MessageRef{})
		if !errors.Is(err, notify.ErrRefused) || len(slackd.Requests()) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// If Slack rejects the blocks, the message is sent without them.
func TestBlocksThatAreRefused(t *testing.T) {
	for name, make := range senders() {
		clock := newTicker()
		slackd := workspace(t, clock)
		by, address := make(slackd, clock)
		slackd.FailNext(fakeslack.Fault{Error: "invalid_blocks"})
		if _, err := by.Send(t.Context(), to(address), one(t, by), audit.MessageRef{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m := slackd.Messages(); len(m) != 1 || len(m[0].Blocks) != 0 || !strings.Contains(m[0].Text, "kubectl get findings") {
			t.Errorf("%s: it received %+v", name, m)
		}
	}
}

// A sender does not wait beyond the deadline of the context.
func TestTheEndOfTime(t *testing.T) {
	for name, make := range senders() {
		clock := newTicker()
		clock.now = time.Now() // since contexts end by the machine's
		slackd := workspace(t, clock)
		by, address := make(slackd, clock)
		slackd.FailNext(fakeslack.Fault{Status: 429, RetryAfter: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := by.Send(ctx, to(address), one(t, by), audit.MessageRef{})
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, notify.ErrRefused) || len(clock.slept) != 0 {
			t.Errorf("%s: it slept %v: %v", name, clock.slept, err)
		}
	}
}

// A call that is under way when its context ends may finish, for a while: Slack may be
// accepting the message.
func TestCallsOutlastTheirContext(t *testing.T) {
	for name := range senders() {
		for _, stuck := range []bool{false, true} {
			clock := newTicker()
			slackd := workspace(t, clock)
			o := sender.Options{Clock: clock.clock(), Grace: 5 * time.Second}
			if stuck {
				o.Grace = 50 * time.Millisecond
			}
			var by notify.Sender = sender.NewBot(secret(token), slackd.APIURL(), o)
			address := channel
			if name == "webhook" {
				by, address = newWebhookWith(slackd, o), hookURI
			}
			ctx, cancel := context.WithCancel(t.Context())
			slackd.Faults(func(fakeslack.Request) fakeslack.Fault { cancel(); return fakeslack.Fault{Hang: stuck} })
			_, err := by.Send(ctx, to(address), one(t, by), audit.MessageRef{})
			if !stuck && (err != nil || len(slackd.Messages()) != 1) {
				t.Errorf("%s: %d messages, %v", name, len(slackd.Messages()), err)
			}
			if stuck && (!errors.Is(err, context.Canceled) || !errors.Is(err, notify.ErrUnconfirmed)) {
				t.Errorf("%s, which hangs: %v", name, err)
			}
			if _, err := by.Send(ctx, to(address), one(t, by), audit.MessageRef{}); !errors.Is(err, context.Canceled) || errors.Is(err, notify.ErrUnconfirmed) {
				t.Errorf("%s begins a call after the end: %v", name, err)
			}
			if n := len(slackd.Requests()); n != 1 {
				t.Errorf("%s made %d calls", name, n)
			}
		}
	}
}

// Slack gets the key of a message as the ID by which it may recognize a copy, and the
// message arrives without it if Slack rejects the ID.
func TestClientMessageID(t *testing.T) {
	for _, code := range []string{"", "invalid_arguments", "duplicate_message_not_found"} {
		clock := newTicker()
		slackd := workspace(t, clock)
		by := newBot(slackd, clock)
		slackd.FailNext(fakeslack.Fault{Error: code})
		m := one(t, by)
		m.Key = "key"
		if _, err := by.Send(t.Context(), to(channel), m, audit.MessageRef{}); err != nil || len(slackd.Messages()) != 1 {
			t.Errorf("%q: %d messages, %v", code, len(slackd.Messages()), err)
		}
		var ids []string
		for _, r := range slackd.Requests() {
			ids = append(ids, r.ClientMessageID)
		}
		if len(ids[0]) != 36 || len(ids) > 1 && ids[1] != "" || (len(ids) == 2) != (code != "") {
			t.Errorf("%q: IDs %q", code, ids)
		}
	}
}

// Redirects are not followed: any server could return a success, and would get the message,
// and with a 307 the token.
func TestRedirects(t *testing.T) {
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		followed := false
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/login" {
				http.Redirect(w, r, "/login", status)
				return
			}
			followed = true
			fmt.Fprint(w, `{"ok":true,"channel":"C01","ts":"1.000001"}`)
		}))
		t.Cleanup(server.Close)
		clock := newTicker().clock()
		bot := sender.NewBot(secret(token), server.URL+"/api/", sender.Options{Clock: clock})
		hook := sender.NewWebhook(func(path string) (notify.Secret, error) { return notify.NewSecret([]byte(server.URL + path)) },
			[]string{strings.TrimPrefix(server.URL, "http://")}, sender.Options{Clock: clock})
		for _, by := range []notify.Sender{bot, hook} {
			_, err := by.Send(t.Context(), to(hookURI), one(t, by), audit.MessageRef{})
			check(t, err, "redirect", true)
		}
		if followed {
			t.Errorf("a redirect by %d was followed", status)
		}
	}
}

// A response that does not come from Slack is not a success.
func TestAnswersOfOthers(t *testing.T) {
	for _, answer := range []string{"", "<html>", "{}", "[]", "null", `{"ok":false}`, `{"ok":true}`, `{"ok":true,"channel":"C01"}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		t.Cleanup(server.Close)
		bot := sender.NewBot(secret(token), server.URL+"/api/", sender.Options{Clock: newTicker().clock()})
		hook := sender.NewWebhook(func(path string) (notify.Secret, error) { return notify.NewSecret([]byte(server.URL + path)) },
			[]string{strings.TrimPrefix(server.URL, "http://")}, sender.Options{Clock: newTicker().clock()})
		for _, by := range []notify.Sender{bot, hook} {
			if _, err := by.Send(t.Context(), to(hookURI), one(t, by), audit.MessageRef{}); err == nil || errors.Is(err, notify.ErrRefused) {
				t.Errorf("%s: %q: %v", by.Name(), answer, err)
			}
		}
	}
}

// No error shows the token or the URL of the webhook.
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
				t.Errorf("%s: %+v causes no error", name, f)
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

// unreachable returns the errors of senders that can't reach Slack, or have no secret.
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
			t.Errorf("case %d causes no error", n)
		}
	}
	return errs
}

// gossip is a transport that fails, with an error that contains everything it knows.
type gossip struct{}

func (gossip) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	return nil, fmt.Errorf("proxy http://me:hunter2@proxy failed on %s %s: %s: %s", r.URL, r.URL.Path, form.Get("token"), body)
}

// indiscreet returns the errors of senders with that transport.
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
