package notify_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

var start = time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)

// fixture is a store, a sender and a clock.
type fixture struct {
	store *fakeStore
	slack *fakeSender
	now   time.Time
	quiet bool
}

func newFixture() *fixture { return &fixture{store: &fakeStore{}, slack: &fakeSender{}, now: start} }

// platform is the fallback owner.
var platform = notify.Route{Sender: "slack", To: notify.Recipient{Owner: "platform", Address: "C0"}}

// routes returns a channel named after the owner, or the fallback owner's.
func (w *fixture) routes(_, owner string) []notify.Route {
	switch owner {
	case "muted":
		return nil
	case "platform", "stray", "nobody":
		return []notify.Route{platform}
	}
	return []notify.Route{{Sender: "slack", To: notify.Recipient{Owner: owner, Address: "C-" + owner}, Quiet: w.quiet, Fallback: &platform}}
}

func (w *fixture) deliverer(me string, leased bool) *notify.Deliverer {
	return &notify.Deliverer{
		Store: w.store, Senders: []notify.Sender{w.slack}, Routes: w.routes, Cluster: "test", Publisher: me, WithLease: leased,
		RemindAfter: 24 * time.Hour, Clock: func() time.Time { return w.now },
	}
}

// deliver sends what is pending, a minute later.
func (w *fixture) deliver(t *testing.T) []audit.Delivery {
	t.Helper()
	w.now = w.now.Add(time.Minute)
	stored, _, _ := w.store.Load(t.Context())
	return w.deliverer("me", true).Deliver(t.Context(), stored)
}

// finding stores a finding with a pending event for each owner.
func (w *fixture) finding(t *testing.T, name string, pending audit.Event, owners ...string) {
	t.Helper()
	r := audit.Record{Finding: audit.Finding{
		ID: name, Rule: "probe", Subject: rules.Subject{Kind: "Host", Name: name}, Severity: rules.High, State: audit.StateOpen, Owners: owners,
	}}
	for _, o := range owners {
		r.SetNotification(audit.Notification{Sender: "slack", Owner: o, Pending: pending})
	}
	if _, err := w.store.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// resolve resolves a stored finding, with the event pending.
func (w *fixture) resolve(t *testing.T, name string) {
	t.Helper()
	s := w.store.held[name]
	s.State = audit.StateResolved
	for _, m := range s.Notifications {
		m.Pending = audit.EventResolved
		s.SetNotification(m)
	}
	if _, err := w.store.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// takeSent returns what was sent since the last call.
func (w *fixture) takeSent() []string {
	sent := w.slack.sent
	w.slack.sent, w.slack.where = nil, nil
	slices.Sort(sent)
	return sent
}

func (w *fixture) expect(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.takeSent()); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
}

func results(all []audit.Delivery) []string {
	var out []string
	for _, d := range all {
		out = append(out, fmt.Sprintf("%s %s %s", d.Owner, d.Result, d.Reason))
	}
	return out
}

func TestEachEventIsSentOnce(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left", "right")
	w.finding(t, "b", audit.EventOpened, "left")
	w.finding(t, "c", audit.EventOpened, "muted")
	if diff := cmp.Diff([]string{"left sent ", "right sent "}, results(w.deliver(t))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	w.expect(t, "left a details", "left a opened", "left b details", "left b opened", "right a details", "right a opened")
	writes := w.store.writes
	w.deliver(t)
	w.expect(t)
	if w.store.writes != writes {
		t.Error("nothing was pending, and something was written")
	}
	w.resolve(t, "a")
	w.deliver(t)
	where := slices.Clone(w.slack.where)
	w.expect(t, "left a resolved", "right a resolved")
	slices.Sort(where)
	opened := w.store.held["a"].Notifications[0].Message
	if opened.Channel != "C-left" || opened.Message == "" || where[0] != "C-left/"+opened.Message {
		t.Errorf("resolved was sent to %v, opened to %v", where, opened)
	}
}

func TestUnknownOwnersShareOneDigest(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "nobody", "stray")
	w.finding(t, "b", audit.EventOpened, "platform")
	if diff := cmp.Diff([]string{"platform sent "}, results(w.deliver(t))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	w.expect(t, "nobody a details", "nobody a opened", "platform b details", "platform b opened", "stray a details", "stray a opened")
	if w.slack.count != 2 {
		t.Errorf("%d messages were sent", w.slack.count)
	}
}

func TestFailedItemsAreSentLater(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.finding(t, "b", audit.EventOpened, "right")
	w.slack.refuse = func(to notify.Recipient) error {
		if to.Owner == "left" {
			return errors.New("down")
		}
		return nil
	}
	if diff := cmp.Diff([]string{"left failed down", "right sent "}, results(w.deliver(t))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	w.expect(t, "right b details", "right b opened")
	w.resolve(t, "a")
	w.slack.refuse = nil
	w.deliver(t)
	w.expect(t, "left a resolved")
}

func TestFailedDetailsAreSentLater(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.refuse = func(notify.Recipient) error {
		if w.slack.count > 0 {
			return errors.New("down")
		}
		return nil
	}
	w.deliver(t)
	w.expect(t, "left a opened")
	w.slack.refuse = nil
	w.deliver(t)
	if diff := cmp.Diff([]string{"C-left/1"}, w.slack.where); diff != "" {
		t.Errorf("where (-want +got):\n%s", diff)
	}
	w.expect(t, "left a details")
}

func TestRefusedItemsGoToTheFallback(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.refuse = func(to notify.Recipient) error {
		if to.Owner == "left" {
			return notify.Refused("channel_not_found")
		}
		return nil
	}
	want := []string{"left refused channel_not_found", "platform sent "}
	if diff := cmp.Diff(want, results(w.deliver(t))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	w.expect(t, "left a details", "left a opened")
	m := w.store.held["a"].Notifications[0]
	if m.Error == "" || m.Message.Channel != "C0" || m.Claim.By != "" {
		t.Errorf("stored: %+v", m)
	}
	w.slack.refuse = nil
	w.resolve(t, "a")
	w.deliver(t)
	w.expect(t, "left a resolved")
	if m := w.store.held["a"].Notifications[0]; m.Error != "" {
		t.Errorf("it was accepted, but still has the error %q", m.Error)
	}
}

func TestRefusedItemsAreRetriedHourly(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	tries := 0
	w.slack.refuse = func(notify.Recipient) error {
		tries++
		return notify.Refused("invalid_auth")
	}
	w.deliver(t)
	writes := w.store.writes
	for range 30 {
		if got := results(w.deliver(t)); len(got) != 1 || got[0] != "left refused invalid_auth" {
			t.Fatalf("deliveries: %v", got)
		}
	}
	if tries != 2 || w.store.writes != writes {
		t.Errorf("%d tries, and %d writes after the first", tries, w.store.writes-writes)
	}
	w.now = w.now.Add(time.Hour)
	w.slack.refuse = nil
	w.deliver(t)
	w.expect(t, "left a details", "left a opened")
}

func TestQuietHoursHoldPendingItems(t *testing.T) {
	w := newFixture()
	w.quiet = true
	w.finding(t, "a", audit.EventOpened, "left")
	if diff := cmp.Diff([]string{"left held quiet hours"}, results(w.deliver(t))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	w.expect(t)
	w.quiet = false
	w.deliver(t)
	w.expect(t, "left a details", "left a opened")
}

func TestReminders(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.deliver(t)
	w.now = w.now.Add(12 * time.Hour)
	w.finding(t, "b", audit.EventOpened, "left")
	w.deliver(t)
	w.takeSent()
	w.now = w.now.Add(11 * time.Hour)
	w.deliver(t)
	w.expect(t)
	w.now = w.now.Add(time.Hour)
	w.deliver(t)
	w.expect(t, "left a reminder", "left b reminder")
	w.now = w.now.Add(23 * time.Hour)
	w.deliver(t)
	w.expect(t)
	w.resolve(t, "a")
	w.now = w.now.Add(time.Hour)
	w.deliver(t)
	w.expect(t, "left a resolved", "left b reminder")
}

// They are remembered for a while, since they may return.
func TestReleasedOwnersHaveNothingPending(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.deliver(t)
	s := w.store.held["a"]
	s.Owners = []string{"right"}
	m := s.Notifications[0]
	m.Pending = audit.EventReleased
	s.SetNotification(m)
	w.store.held["a"] = s
	w.takeSent()
	w.deliver(t)
	w.expect(t, "left a released")
	if m := w.store.held["a"].Notifications[0]; m.Last != audit.EventReleased || m.DeliveryState() != audit.DeliveryIdle {
		t.Errorf("kept: %+v", m)
	}
}

func TestRefusedRemindersAreRetriedHourly(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.deliver(t)
	w.takeSent()
	w.now = w.now.Add(24 * time.Hour)
	tries := 0
	w.slack.refuse = func(notify.Recipient) error {
		tries++
		return notify.Refused("invalid_auth")
	}
	w.deliver(t)
	writes := w.store.writes
	for range 30 {
		if got := results(w.deliver(t)); len(got) != 1 || got[0] != "left refused invalid_auth" {
			t.Fatalf("deliveries: %v", got)
		}
	}
	if tries != 2 || w.store.writes != writes {
		t.Errorf("%d tries, and %d writes after the first", tries, w.store.writes-writes)
	}
	w.now = w.now.Add(time.Hour)
	w.slack.refuse = nil
	w.deliver(t)
	w.expect(t, "left a reminder")
}

func TestWhatIsNotReadyIsReportedAndStaysPending(t *testing.T) {
	w := newFixture()
	w.finding(t, "shop", audit.EventOpened, "team-a", "team-b")
	stored, _, _ := w.store.Load(t.Context())
	d := w.deliverer("me", true)
	d.Unready = []notify.Unready{{Sender: "slack", Address: "C-team-a", Owner: "team-a", Reason: "no such file"}}
	got := results(d.Deliver(t.Context(), stored))
	want := []string{"team-a failed 1 event pending: no such file", "team-a failed no such file", "team-b sent "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	w.takeSent()
	for _, n := range w.store.held["shop"].Notifications {
		if n.Owner == "team-a" && (n.Pending != audit.EventOpened || n.Claim.By != "") {
			t.Errorf("team-a: %+v", n)
		}
	}
	// The other sender's files are read in each sweep; nothing is written for them.
	writes := w.store.writes
	stored, _, _ = w.store.Load(t.Context())
	d.Unready = []notify.Unready{{Sender: "slack", Reason: "it is empty"}}
	if diff := cmp.Diff([]string{" failed it is empty", "team-a failed 1 event pending: it is empty"}, results(d.Deliver(t.Context(), stored))[:2]); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if w.store.writes != writes {
		t.Errorf("%d writes", w.store.writes-writes)
	}
	w.deliver(t)
	if sent := w.takeSent(); len(sent) == 0 {
		t.Error("nothing is sent when the file is there")
	}
}
