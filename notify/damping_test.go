package notify_test

import (
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// flap lets a violation come and go, a sweep every so many minutes, and returns how many
// messages about that its owner got.
func flap(t *testing.T, cycles int, every time.Duration) int {
	t.Helper()
	l := &life{fixture: newFixture(), there: map[string][]string{}}
	count := func() (n int) {
		for _, s := range l.takeSent() {
			if s != "left a details" {
				n++
			}
		}
		return n
	}
	n := 0
	for range cycles {
		for _, there := range []bool{true, false} {
			delete(l.there, "a")
			if there {
				l.there["a"] = []string{"left"}
			}
			l.now = l.now.Add(every)
			l.reconcile(t)
			stored, _, _ := l.store.Load(t.Context())
			l.deliverer("me", true).Deliver(t.Context(), stored)
			n += count()
		}
	}
	l.now = l.now.Add(2 * time.Hour)
	l.reconcile(t)
	l.deliver(t)
	n += count()
	if got := l.store.held["a"].Notifications[0]; got.Pending != "" || got.Last != audit.EventResolved {
		t.Errorf("at the end: %+v", got)
	}
	return n
}

func TestAFindingThatComesAndGoesIsDamped(t *testing.T) {
	if n := flap(t, 20, time.Minute); n > 6 {
		t.Errorf("20 returns in 40 minutes made %d messages", n)
	}
	if n := flap(t, 20, 10*time.Minute); n > 12 {
		t.Errorf("20 returns in 7 hours made %d messages", n)
	}
	if n := flap(t, 5, 2*time.Hour); n != 10 {
		t.Errorf("5 slow returns made %d messages, want all 10", n)
	}
}

func TestClaimantsThatComeAndGoAreOneChangeAnHour(t *testing.T) {
	w := newFixture()
	n := audit.Notification{Sender: "slack", Owner: "left", Pending: audit.EventChanged, Last: audit.EventChanged, At: w.now}
	rec := audit.Record{Finding: audit.Finding{State: audit.StateOpen}}
	if at := notify.DampedUntil(&rec, &n, w.now.Add(time.Minute)); !at.Equal(w.now.Add(time.Hour)) {
		t.Errorf("a change after a change is sent at %s", at)
	}
	if at := notify.DampedUntil(&rec, &n, w.now.Add(time.Hour)); !at.IsZero() {
		t.Errorf("an hour later it waits until %s", at)
	}
	n.Last = audit.EventOpened
	if at := notify.DampedUntil(&rec, &n, w.now.Add(time.Minute)); !at.IsZero() {
		t.Errorf("the first change waits until %s", at)
	}
}

func TestAChannelThatAcceptsMessagesClearsItsRefusals(t *testing.T) {
	for _, c := range []struct {
		name        string
		newer, flag bool
		want        []string
	}{
		{"nothing else happened", false, false, nil},
		{"a newer finding reached the channel", true, false, []string{"platform a details", "platform a opened"}},
		{"someone asks for it", false, true, []string{"platform a details", "platform a opened"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture()
			w.finding(t, "a", audit.EventOpened, "platform")
			w.slack.refuse = func(notify.Recipient) error { return notify.Refused("invalid_auth") }
			w.deliver(t)
			w.slack.refuse = nil
			if c.newer {
				w.finding(t, "b", audit.EventOpened, "platform")
				w.deliver(t)
			}
			w.takeSent()
			w.now = w.now.Add(time.Minute)
			stored, _, _ := w.store.Load(t.Context())
			d := w.deliverer("me", true)
			d.RetryRefused = c.flag
			d.Deliver(t.Context(), stored)
			w.expect(t, c.want...)
		})
	}
}
