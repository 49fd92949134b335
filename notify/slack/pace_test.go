package slack_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// A channel gets one message a second, so that Slack never limits the rate, and other
// channels do not wait for it.
func TestPace(t *testing.T) {
	for name, make := range senders() {
		clock := newTicker()
		slackd := workspace(t, clock)
		by, address := make(slackd, clock)
		for range 4 {
			if _, err := by.Send(t.Context(), to(address), one(t, by), audit.MessageRef{}); err != nil {
				t.Fatal(err)
			}
		}
		other := "C02"
		if name == "webhook" {
			other = "/services/T0/B0/second"
		}
		if _, err := by.Send(t.Context(), to(other), one(t, by), audit.MessageRef{}); err != nil {
			t.Fatal(err)
		}
		if want := slices.Repeat([]time.Duration{time.Second}, 3); !slices.Equal(clock.slept, want) || len(slackd.Requests()) != 5 {
			t.Errorf("%s slept %v and made %d calls", name, clock.slept, len(slackd.Requests()))
		}
	}
}

// A channel that has to wait does not hold up others.
func TestOneChannelWaits(t *testing.T) {
	clock := newTicker()
	slackd := workspace(t, clock)
	slackd.FailNext(fakeslack.Fault{Status: 429, RetryAfter: 30 * time.Second})
	waiting, goOn := make(chan time.Duration, 1), make(chan struct{})
	by := sender.NewBot(secret(token), slackd.APIURL(), sender.Options{Clock: sender.Clock{Now: clock.Now, Sleep: func(ctx context.Context, d time.Duration) error {
		waiting <- d
		<-goOn
		return clock.sleep(ctx, d)
	}}})
	first := make(chan error, 1)
	go func() {
		_, err := by.Send(t.Context(), to(channel), one(t, by), audit.MessageRef{})
		first <- err
	}()
	select {
	case d := <-waiting:
		if d != 30*time.Second {
			t.Errorf("it waits %v", d)
		}
	case err := <-first:
		t.Fatalf("it does not wait (%v)", err)
	}
	if _, err := by.Send(t.Context(), to("C02"), one(t, by), audit.MessageRef{}); err != nil {
		t.Error(err)
	}
	if got := slackd.Messages(); len(got) != 1 || got[0].Channel != "C02" {
		t.Errorf("while one channel waits there are %+v", got)
	}
	close(goOn)
	if err := <-first; err != nil || len(slackd.In(channel)) != 1 {
		t.Errorf("after the wait: %v", err)
	}
}
