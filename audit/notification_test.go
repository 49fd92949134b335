package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// notification is what Slack sent to team-a.
func notification(due, last audit.Event) audit.Notification {
	return audit.Notification{Sender: "slack", Owner: "team-a", Pending: due, Last: last}
}

// notified sets the notifications of a record.
func notified(notifications ...audit.Notification) func(*audit.Record) {
	return func(r *audit.Record) { r.Notifications = notifications }
}

func TestPendingEvents(t *testing.T) {
	anybody := func(string, string) []string { return []string{"slack"} }
	nobody := func(string, string) []string { return nil }
	worse, reworded, shared, left := shop(), shop(), shop(), shop()
	worse.Objects = []rules.Object{{Ref: snapshot.Ref{Kind: "Pod", Name: "web"}}}
	reworded.Message = "it is open to all"
	shared.Owners = []string{"team-a", "team-b"}
	left.Owners = []string{"team-b"}
	teamB := func(due, last audit.Event) audit.Notification {
		return audit.Notification{Sender: "slack", Owner: "team-b", Pending: due, Last: last}
	}
	told := func(last audit.Event, ago time.Duration) audit.Notification {
		n := notification("", last)
		n.At = now.Add(-ago)
		return n
	}
	returned := told(audit.EventReleased, 0)
	returned.Pending = audit.EventReopened
	ofB := func(of ...audit.Notification) func(*audit.Record) {
		return func(r *audit.Record) { r.Owners, r.Notifications = []string{"team-b"}, of }
	}
	inChannel := func(owner string) audit.Notification {
		n := notification("", audit.EventOpened)
		n.Owner, n.Message = owner, audit.MessageRef{Channel: "C-shop", Message: "1"}
		return n
	}
	elsewhere := inChannel("team-a")
	elsewhere.Message.Channel = "C-other"
	releasedElsewhere := elsewhere
	releasedElsewhere.Pending = audit.EventReleased
	sameReader := func(_ string, was audit.Notification, owner string) bool {
		return owner == "team-b" && was.Message.Channel == "C-shop"
	}
	const opened, reopened, changed = audit.EventOpened, audit.EventReopened, audit.EventChanged
	const details, resolved, released = audit.EventDetails, audit.EventResolved, audit.EventReleased
	for _, c := range []struct {
		name    string
		stored  []audit.Record
		ev      *audit.Evaluation
		senders func(rule, owner string) []string
		hold    audit.Hold
		want    []audit.Notification
		quiet   bool // nothing is written
	}{
		{name: "the owner of a new finding is notified", ev: ran(shop()), want: []audit.Notification{notification(opened, "")}},
		{name: "no one is notified of a pending one", ev: ran(shop()), hold: audit.Hold{Sweeps: 2}},
		{name: "an owner who is not notified has no notification", ev: ran(shop()), senders: nobody},
		{name: "each of several owners is notified", ev: ran(shared), want: []audit.Notification{notification(opened, ""), teamB(opened, "")}},
		{name: "an open one that was sent is quiet", stored: record(audit.StateOpen, notified(notification("", opened))), ev: ran(shop()), want: []audit.Notification{notification("", opened)}, quiet: true},
		{name: "an open one that could not be sent yet stays pending without a write", stored: record(audit.StateOpen, notified(notification(opened, ""))), ev: ran(shop()), want: []audit.Notification{notification(opened, "")}, quiet: true},
		{name: "an open one from before notifications is announced", stored: record(audit.StateOpen, nil), ev: ran(shop()), want: []audit.Notification{notification(opened, "")}},
		{name: "a change of its objects is sent", stored: record(audit.StateOpen, notified(notification("", opened))), ev: ran(worse), want: []audit.Notification{notification(changed, opened)}},
		{name: "a change of words alone is not", stored: record(audit.StateOpen, notified(notification("", opened))), ev: ran(reworded), want: []audit.Notification{notification("", opened)}},
		{name: "a change before the opening was sent is part of the opening", stored: record(audit.StateOpen, notified(notification(opened, ""))), ev: ran(worse), want: []audit.Notification{notification(opened, "")}},
		{name: "a change before the details were sent replaces them", stored: record(audit.StateOpen, notified(notification(details, opened))), ev: ran(worse), want: []audit.Notification{notification(changed, opened)}},
		{name: "an owner who was notified of the opening is notified of the end", stored: record(audit.StateOpen, notified(notification("", opened))), ev: ran(), want: []audit.Notification{notification(resolved, opened)}},
		{name: "an opening overtaken by the end is sent as the end", stored: record(audit.StateOpen, notified(notification(opened, ""))), ev: ran(), want: []audit.Notification{notification(resolved, "")}},
		{name: "an owner who was never notified is not notified of the end", stored: record(audit.StateOpen, nil), ev: ran()},
		{name: "an owner who is no longer notified is not notified of the end", stored: record(audit.StateOpen, notified(notification("", opened))), ev: ran(), senders: nobody, want: []audit.Notification{notification("", opened)}},
		{name: "a return is sent as one", stored: record(audit.StateResolved, notified(notification("", resolved))), ev: ran(shop()), want: []audit.Notification{notification(reopened, resolved)}},
		{name: "a return before the end was sent is sent as one", stored: record(audit.StateResolved, notified(notification(resolved, opened))), ev: ran(shop()), want: []audit.Notification{notification(reopened, opened)}},
		{name: "a return of which nothing was ever sent is new to the owner", stored: record(audit.StateResolved, notified(notification(resolved, ""))), ev: ran(shop()), want: []audit.Notification{notification(opened, "")}},
		{name: "one that is resolved still has a pending end", stored: record(audit.StateResolved, notified(notification(resolved, opened))), ev: ran(), want: []audit.Notification{notification(resolved, opened)}, quiet: true},
		{name: "one that was resolved while no one was notified is sent once someone is", stored: record(audit.StateResolved, notified(notification("", opened))), ev: ran(), want: []audit.Notification{notification(resolved, opened)}},
		{name: "one whose end was sent is quiet", stored: record(audit.StateResolved, notified(notification("", resolved))), ev: ran(), want: []audit.Notification{notification("", resolved)}, quiet: true},
		{name: "a new owner is notified, and the other one not again", stored: record(audit.StateOpen, notified(notification("", opened))), ev: ran(shared), want: []audit.Notification{notification("", opened), teamB(opened, "")}},
		{name: "a former owner is notified of that", stored: record(audit.StateOpen, notified(notification("", opened))), ev: ran(left), want: []audit.Notification{notification(released, opened), teamB(opened, "")}},
		{name: "a former owner who was never notified is forgotten", stored: record(audit.StateOpen, notified(notification(opened, ""))), ev: ran(left), want: []audit.Notification{teamB(opened, "")}},
		{name: "a former owner who knows that is remembered, in case they return", stored: record(audit.StateOpen, notified(told(released, 0), teamB("", opened))), ev: ran(left), want: []audit.Notification{told(released, 0), teamB("", opened)}},
		{name: "and is not a reason to write when they no longer might", stored: record(audit.StateOpen, ofB(told(released, 25*time.Hour), teamB("", opened))), ev: ran(left), want: []audit.Notification{told(released, 25*time.Hour), teamB("", opened)}, quiet: true},
		{name: "but is forgotten with the next change", stored: record(audit.StateOpen, notified(told(released, 25*time.Hour), teamB("", opened))), ev: ran(left), want: []audit.Notification{teamB("", opened)}},
		{name: "one who returns is told of that as a return", stored: record(audit.StateOpen, notified(told(released, 0))), ev: ran(shop()), want: []audit.Notification{returned}, quiet: false},
		{name: "a renamed team in the same channel is the same reader", stored: record(audit.StateOpen, notified(inChannel("team-a"))), ev: ran(left), want: []audit.Notification{inChannel("team-b")}},
		{name: "but not in another channel", stored: record(audit.StateOpen, notified(elsewhere)), ev: ran(left), want: []audit.Notification{releasedElsewhere, teamB(opened, "")}},
		{name: "a rule that becomes report-only keeps what was sent, and nothing is pending", stored: record(audit.StateOpen, notified(notification(changed, opened))), ev: ran(shop()), senders: nobody, want: []audit.Notification{notification("", opened)}},
		{name: "if nothing is known nothing is pending", stored: record(audit.StateOpen, notified(notification("", opened))), ev: outcome(audit.RuleSkipped), want: []audit.Notification{notification("", opened)}, quiet: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := audit.Reconciler{Now: now, Keep: time.Hour, MaxNew: 10, Senders: anybody, SameReader: sameReader, Hold: func(string) audit.Hold { return c.hold }}
			if c.senders != nil {
				r.Senders = c.senders
			}
			got := r.Reconcile(c.stored, c.ev)
			if len(got) != 1 {
				t.Fatalf("%d transitions", len(got))
			}
			if diff := cmp.Diff(c.want, got[0].Record.Notifications); diff != "" {
				t.Errorf("notified (-want +got):\n%s", diff)
			}
			if got[0].Write == c.quiet {
				t.Errorf("write is %t", got[0].Write)
			}
			// What was decided and stored is decided: the same cluster adds nothing.
			if again := r.Reconcile([]audit.Record{got[0].Record}, c.ev); len(again) == 1 && again[0].Write && c.hold == (audit.Hold{}) {
				t.Errorf("the same world writes again: %s %+v", again[0].Why, again[0].Record.Notifications)
			}
		})
	}
}

func TestNotificationsAreLimited(t *testing.T) {
	f := shop()
	f.Owners = nil
	for i := range 10 {
		f.Owners = append(f.Owners, fmt.Sprintf("team-%d", i))
	}
	r := audit.Reconciler{
		Now: now, MaxNew: 10, MaxNotifications: 7,
		Hold:    func(string) audit.Hold { return audit.Hold{} },
		Senders: func(string, string) []string { return []string{"slack", "webhook"} },
	}
	first := r.Reconcile(nil, ran(f))[0]
	// An owner is notified by all of their senders, or counted.
	if len(first.Record.Notifications) != 6 || len(first.Record.Owners) != 3 || first.Record.MoreOwners != 7 {
		t.Errorf("%d owners are notified %d times, and %d are not", len(first.Record.Owners), len(first.Record.Notifications), first.Record.MoreOwners)
	}
	if again := r.Reconcile([]audit.Record{first.Record}, ran(f))[0]; again.Write {
		t.Error("the same world is written again")
	}
}

func TestManyNewNotificationsAreAStorm(t *testing.T) {
	var stored []audit.Record
	ev := ran()
	for i := range 3 {
		subject := namespaceSubject(fmt.Sprintf("shop-%d", i), "")
		f := shop()
		f.ID, f.Subject = rules.ID("probe", subject), subject
		stored = append(stored, audit.Record{Finding: f, Reason: audit.ReasonOpened})
		ev.Findings = append(ev.Findings, f)
	}
	for limit, storm := range map[int]bool{2: true, 3: false} {
		r := audit.Reconciler{
			Now: now, MaxNew: limit, Hold: func(string) audit.Hold { return audit.Hold{} },
			Senders: func(string, string) []string { return []string{"slack"} },
		}
		for _, got := range r.Reconcile(stored, ev) {
			if got.Why != audit.ReasonConfirmed || got.Record.Storm != storm {
				t.Errorf("at most %d: %s, storm %t", limit, got.Why, got.Record.Storm)
			}
		}
	}
}
