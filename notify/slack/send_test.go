package slack_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// one is a message of its own.
func one(t *testing.T, by notify.Sender) notify.Message {
	t.Helper()
	return by.Plan(digest(1, items(audit.EventResolved, audit.MessageRef{}, resolved(host("shop.example.com", "team-a"), audit.ReasonResolved))))[0]
}

func to(address string) notify.Recipient {
	return notify.Recipient{Owner: "team-a", Address: address, Mention: mention}
}

// Each row is how Slack fails, and what a sender makes of it: how often it calls,
// how long it waits, how many messages arrive, and what it says.
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
		{"an error of the server, twice", repeat(2, fakeslack.Fault{Status: 503}), []time.Duration{2 * s, 4 * s}, 1, "", false},
		{"an error of the server, for long", repeat(9, fakeslack.Fault{Status: 500}), []time.Duration{2 * s, 4 * s}, 0, "Internal Server Error", false},
		{"a broken connection", repeat(1, fakeslack.Fault{Cut: true}), []time.Duration{2 * s}, 1, "", false},
		{"a broken connection behind the message", repeat(1, fakeslack.Fault{Cut: true, Stored: true}), []time.Duration{2 * s}, 2, "", false},
		{"connections that break for long", repeat(9, fakeslack.Fault{Cut: true}), []time.Duration{2 * s, 4 * s}, 0, "EOF", false},
		{"a redirect", repeat(9, fakeslack.Fault{Status: 302}), nil, 0, "redirect", true},
		{"an answer of somebody else", repeat(9, fakeslack.Fault{Status: 403}), nil, 0, "Forbidden", true},
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

// senders make each sender, and say where it finds the channel.
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
		t.Errorf("that the message is refused for good is %v in %v", !refusing, err)
	}
}

// Each row is a word of Slack, and whether it is the end of the message.
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
		if n := len(slackd.Requests()); refusing != (n == 1) {
			t.Errorf("%s: %d calls", word, n)
		}
	}
}

// What a real Slack says of channels and webhooks that are not right.
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
		{"another token", stranger, channel, "invalid_auth: the token is not accepted"},
		{"no such webhook", hook, "/services/none", "post to the webhook of team-a: no_service: the webhook was removed"},
		{"a webhook that is not at Slack", abroad, hookURI, "it does not begin with https://hooks.slack.com/"},
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

// A message of somebody else's making is refused, and no call made.
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

// Blocks that are too much for Slack are not the end of the message.
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
			t.Errorf("%s: what arrived is %+v", name, m)
		}
	}
}

// The time of the context is all that is waited, and a wait beyond it is none.
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

func TestHangingSlack(t *testing.T) {
	for name, make := range senders() {
		clock := newTicker()
		slackd := workspace(t, clock)
		by, address := make(slackd, clock)
		ctx, cancel := context.WithCancel(t.Context())
		slackd.Faults(func(fakeslack.Request) fakeslack.Fault { cancel(); return fakeslack.Fault{Hang: true} })
		_, err := by.Send(ctx, to(address), one(t, by), audit.MessageRef{})
		if !errors.Is(err, context.Canceled) || errors.Is(err, notify.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
