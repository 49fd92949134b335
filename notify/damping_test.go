package notify_test

import (
	"strings"
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
	if at := rec.DampedUntil(&n, w.now.Add(time.Minute)); !at.Equal(w.now.Add(time.Hour)) {
		t.Errorf("a change after a change is sent at %s", at)
	}
	if at := rec.DampedUntil(&n, w.now.Add(time.Hour)); !at.IsZero() {
		t.Errorf("an hour later it waits until %s", at)
	}
	n.Last = audit.EventOpened
	if at := rec.DampedUntil(&n, w.now.Add(time.Minute)); !at.IsZero() {
		t.Errorf("the first change waits until %s", at)
	}
}

// A claimant that comes and goes is one message an hour, to itself and to each of the
// other owners.
func TestAnOwnerWhoComesAndGoesIsDamped(t *testing.T) {
	for _, c := range []struct {
		every       time.Duration
		cycles      int
		right, left int // the most messages
	}{
		{time.Minute, 20, 3, 2},       // 40 minutes
		{10 * time.Minute, 20, 9, 8},  // nearly 7 hours
		{2 * time.Hour, 5, 10, 10},    // no damping
		{30 * time.Second, 200, 6, 4}, // 200 minutes
	} {
		l := &life{fixture: newFixture(), there: map[string][]string{"a": {"left"}}}
		turn := func() {
			l.now = l.now.Add(c.every)
			l.reconcile(t)
			stored, _, _ := l.store.Load(t.Context())
			l.deliverer("me", true).Deliver(t.Context(), stored)
		}
		turn()
		for range c.cycles {
			l.there["a"] = []string{"left", "right"}
			turn()
			l.there["a"] = []string{"left"}
			turn()
		}
		got := map[string]int{}
		last := ""
		for _, s := range l.slack.sent {
			owner, event, _ := strings.Cut(s, " a ")
			if event != "details" && event != "reminder" {
				got[owner]++
			}
			if owner == "right" {
				last = event
			}
		}
		if got["right"] > c.right || got["right"] == 0 || got["left"] > c.left+1 {
			t.Errorf("%d cycles of %s: %v, the last is %s: %v", c.cycles, c.every, got, last, l.slack.sent)
		}
		l.now = l.now.Add(time.Hour)
		turn()
		stored := l.store.held["a"]
		if n := stored.Notification("slack", "right"); n.Notified() || n.Pending != "" {
			t.Errorf("%d cycles of %s: at the end %+v", c.cycles, c.every, n)
		}
	}
}

func TestAChannelThatAcceptsMessagesClearsItsRefusals(t *testing.T) {
	for _, c := range []struct {
		name        string
		newer, flag bool
		changed     time.Duration // the config, so long after the refusal
		want        []string
	}{
		{"nothing else happened", false, false, 0, nil},
		{"a newer finding reached the channel", true, false, 0, []string{"platform a details", "platform a opened"}},
		{"someone asks for it", false, true, 0, []string{"platform a details", "platform a opened"}},
		{"the config had changed just before", false, false, -time.Second / 2, nil},
		{"the config has changed", false, false, 2 * time.Second, []string{"platform a details", "platform a opened"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture()
			w.finding(t, "a", audit.EventOpened, "platform")
			w.slack.refuse = func(notify.Recipient) error { return notify.Refused("invalid_auth") }
			w.deliver(t)
			w.slack.refuse = nil
			changed := w.now.Add(c.changed)
			if c.newer {
				w.finding(t, "b", audit.EventOpened, "platform")
				w.deliver(t)
			}
			w.takeSent()
			w.now = w.now.Add(time.Minute)
			stored, _, _ := w.store.Load(t.Context())
			d := w.deliverer("me", true)
			if d.RetryRefused = c.flag; c.changed != 0 {
				d.ChangedAt = changed
			}
			d.Deliver(t.Context(), stored)
			w.expect(t, c.want...)
		})
	}
}
