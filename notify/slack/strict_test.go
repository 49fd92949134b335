package slack_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

const (
	token   = "xoxb-123456-hunter2"
	hookURI = "/services/T0/B0/hunter2"
)

// ticker is a clock that goes on only while somebody sleeps.
type ticker struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func newTicker() *ticker { return &ticker{now: now} }

func (c *ticker) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *ticker) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func (c *ticker) clock() sender.Clock { return sender.Clock{Now: c.Now, Sleep: c.sleep} }

// workspace starts a Slack that goes by the clock.
func workspace(t *testing.T, clock *ticker) *fakeslack.Server {
	t.Helper()
	return fakeslack.Start(t, fakeslack.Config{
		Token:    token,
		Channels: map[string]fakeslack.Membership{channel: "", "C02": "", "C03": fakeslack.Outside, "C04": fakeslack.Archived},
		Webhooks: map[string]string{hookURI: channel, "/services/T0/B0/second": "C02"},
		Allowed:  []string{mention},
		Now:      clock.Now,
	})
}

func secret(s string) func() (notify.Secret, error) {
	return func() (notify.Secret, error) { return notify.NewSecret([]byte(s)) }
}

func newBot(s *fakeslack.Server, clock *ticker) *sender.Bot {
	return sender.NewBot(secret(token), s.APIURL(), sender.Options{Clock: clock.clock()})
}

// newWebhook returns a sender by webhook; the address is the path.
func newWebhook(s *fakeslack.Server, clock *ticker) *sender.Webhook {
	host := strings.TrimPrefix(s.URL(), "http://")
	return sender.NewWebhook(func(path string) (notify.Secret, error) { return notify.NewSecret([]byte(s.URL() + path)) },
		[]string{host}, sender.Options{Clock: clock.clock()})
}

// deliver sends a plan as notify does, and fails the test where that fails.
func deliver(t *testing.T, by notify.Sender, to notify.Recipient, plan []notify.Message) {
	t.Helper()
	places := make([]audit.MessageRef, len(plan))
	for n, m := range plan {
		beneath := m.Thread
		if m.Parent != notify.NoParent {
			beneath = places[m.Parent]
		}
		var err error
		if places[n], err = by.Send(t.Context(), to, m, beneath); err != nil && !m.Optional {
			t.Fatalf("message %d: %v", n, err)
		}
	}
}

// Whatever a digest holds, a strict Slack takes all of its messages, and none is
// near a limit.
func TestStrictSlackTakesEveryMessage(t *testing.T) {
	list := append(samples(), large()...)
	for seed := range uint64(60) {
		list = append(list, random(seed))
	}
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			clock := newTicker()
			slackd := workspace(t, clock)
			var by notify.Sender = newBot(slackd, clock)
			if s.webhook {
				by, s.digest.To.Address = newWebhook(slackd, clock), hookURI
			} else {
				s.digest = inThread(t, by, slackd, s.digest)
			}
			plan := by.Plan(s.digest)
			deliver(t, by, s.digest.To, plan)
			for _, r := range slackd.Refusals() {
				t.Errorf("refused: %s: %s", r.Error, r.Detail)
			}
			if size := slackd.Largest(); size.Characters > 9000 || size.Blocks > 40 {
				t.Errorf("the largest message has %d characters in %d blocks", size.Characters, size.Blocks)
			}
			sent := 0
			for _, m := range slackd.Messages() {
				sent += 1 + len(m.Earlier)
			}
			if updated := 1; !s.webhook && sent != len(plan)+updated {
				t.Errorf("%d messages and updates arrived of %d", sent, len(plan)+updated)
			}
		})
	}
}

// inThread posts a message, and makes it the one that a digest's parent is.
func inThread(t *testing.T, by notify.Sender, slackd *fakeslack.Server, d notify.Digest) notify.Digest {
	t.Helper()
	first := by.Plan(digest(1, items(audit.EventOpened, audit.MessageRef{}, host("first.example.com", "team-a"))))[0]
	place, err := by.Send(t.Context(), d.To, first, audit.MessageRef{})
	if err != nil {
		t.Fatal(err)
	}
	if top := slackd.In(channel); top[len(top)-1].TS != place.Message || place.Channel != channel {
		t.Fatalf("the message is said to be at %v", place)
	}
	for n := range d.Items {
		if d.Items[n].Message == parent {
			d.Items[n].Message = place
		}
	}
	all := d.Earlier[parent]
	for n := range all {
		all[n].Message = place
		for m := range all[n].Record.Notifications {
			all[n].Record.Notifications[m].Message = place
		}
	}
	d.Earlier = map[audit.MessageRef][]notify.Item{place: all}
	return d
}
