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

// mark is what team-a was told by Slack.
func mark(due, last audit.Event) audit.Notification {
	return audit.Notification{Sender: "slack", Owner: "team-a", Pending: due, Last: last}
}

// marked gives a record what owners were told.
func marked(told ...audit.Notification) func(*audit.Record) {
	return func(r *audit.Record) { r.Notifications = told }
}

func TestWhatOwnersAreToBeTold(t *testing.T) {
	anybody := func(string, string) []string { return []string{"slack"} }
	nobody := func(string, string) []string { return nil }
	worse, reworded, shared, left := shop(), shop(), shop(), shop()
	worse.Objects = []rules.Object{{Ref: snapshot.Ref{Kind: "Pod", Name: "web"}}}
	reworded.Message = "it stands open"
	shared.Owners = []string{"team-a", "team-b"}
	left.Owners = []string{"team-b"}
	teamB := func(due, last audit.Event) audit.Notification {
		return audit.Notification{Sender: "slack", Owner: "team-b", Pending: due, Last: last}
	}
	const opened, reopened, changed = audit.EventOpened, audit.EventReopened, audit.EventChanged
	const details, resolved, released = audit.EventDetails, audit.EventResolved, audit.EventReleased
	for _, c := range []struct {
		name   string
		stored []audit.Record
		ev     *audit.Evaluation
		tell   func(rule, owner string) []string
		hold   audit.Hold
		want   []audit.Notification
		quiet  bool // nothing is written
	}{
		{name: "of a new finding its owner is to be told", ev: ran(shop()), want: []audit.Notification{mark(opened, "")}},
		{name: "of one that is pending nobody is", ev: ran(shop()), hold: audit.Hold{Sweeps: 2}},
		{name: "who is not to be told gets no mark", ev: ran(shop()), tell: nobody},
		{name: "each of several owners is told", ev: ran(shared), want: []audit.Notification{mark(opened, ""), teamB(opened, "")}},
		{name: "an open one that was told is quiet", stored: record(audit.StateOpen, marked(mark("", opened))), ev: ran(shop()), want: []audit.Notification{mark("", opened)}, quiet: true},
		{name: "an open one that could not be told yet stays due without a write", stored: record(audit.StateOpen, marked(mark(opened, ""))), ev: ran(shop()), want: []audit.Notification{mark(opened, "")}, quiet: true},
		{name: "an open one from before anybody was told is announced", stored: record(audit.StateOpen, nil), ev: ran(shop()), want: []audit.Notification{mark(opened, "")}},
		{name: "a change of its objects is told", stored: record(audit.StateOpen, marked(mark("", opened))), ev: ran(worse), want: []audit.Notification{mark(changed, opened)}},
		{name: "a change of words alone is not", stored: record(audit.StateOpen, marked(mark("", opened))), ev: ran(reworded), want: []audit.Notification{mark("", opened)}},
		{name: "a change before the opening was told is part of the opening", stored: record(audit.StateOpen, marked(mark(opened, ""))), ev: ran(worse), want: []audit.Notification{mark(opened, "")}},
		{name: "a change before the details were told takes their place", stored: record(audit.StateOpen, marked(mark(details, opened))), ev: ran(worse), want: []audit.Notification{mark(changed, opened)}},
		{name: "the end is told to who knows the beginning", stored: record(audit.StateOpen, marked(mark("", opened))), ev: ran(), want: []audit.Notification{mark(resolved, opened)}},
		{name: "an opening that the end overtook is told as the end", stored: record(audit.StateOpen, marked(mark(opened, ""))), ev: ran(), want: []audit.Notification{mark(resolved, "")}},
		{name: "who never heard of it is spared the end", stored: record(audit.StateOpen, nil), ev: ran()},
		{name: "the end is not told to who is not to be told any more", stored: record(audit.StateOpen, marked(mark("", opened))), ev: ran(), tell: nobody, want: []audit.Notification{mark("", opened)}},
		{name: "a return is told as one", stored: record(audit.StateResolved, marked(mark("", resolved))), ev: ran(shop()), want: []audit.Notification{mark(reopened, resolved)}},
		{name: "a return before the end was told is told as one", stored: record(audit.StateResolved, marked(mark(resolved, opened))), ev: ran(shop()), want: []audit.Notification{mark(reopened, opened)}},
		{name: "a return of which nothing was ever told is new to the owner", stored: record(audit.StateResolved, marked(mark(resolved, ""))), ev: ran(shop()), want: []audit.Notification{mark(opened, "")}},
		{name: "one that is resolved still has its end to tell", stored: record(audit.StateResolved, marked(mark(resolved, opened))), ev: ran(), want: []audit.Notification{mark(resolved, opened)}, quiet: true},
		{name: "one that was mended while nobody was to be told is told once somebody is", stored: record(audit.StateResolved, marked(mark("", opened))), ev: ran(), want: []audit.Notification{mark(resolved, opened)}},
		{name: "one whose end was told is quiet", stored: record(audit.StateResolved, marked(mark("", resolved))), ev: ran(), want: []audit.Notification{mark("", resolved)}, quiet: true},
		{name: "a new owner is told, and the other one not again", stored: record(audit.StateOpen, marked(mark("", opened))), ev: ran(shared), want: []audit.Notification{mark("", opened), teamB(opened, "")}},
		{name: "who is no owner any more is told so", stored: record(audit.StateOpen, marked(mark("", opened))), ev: ran(left), want: []audit.Notification{mark(released, opened), teamB(opened, "")}},
		{name: "who is no owner any more and never knew is forgotten", stored: record(audit.StateOpen, marked(mark(opened, ""))), ev: ran(left), want: []audit.Notification{teamB(opened, "")}},
		{name: "a rule that is made report-only leaves what was told, and nothing due", stored: record(audit.StateOpen, marked(mark(changed, opened))), ev: ran(shop()), tell: nobody, want: []audit.Notification{mark("", opened)}},
		{name: "where nothing is known nothing is due", stored: record(audit.StateOpen, marked(mark("", opened))), ev: outcome(audit.RuleSkipped), want: []audit.Notification{mark("", opened)}, quiet: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := audit.Reconciler{Now: now, Keep: time.Hour, MaxNew: 10, Senders: anybody, Hold: func(string) audit.Hold { return c.hold }}
			if c.tell != nil {
				r.Senders = c.tell
			}
			got := r.Reconcile(c.stored, c.ev)
			if len(got) != 1 {
				t.Fatalf("%d transitions", len(got))
			}
			if diff := cmp.Diff(c.want, got[0].Record.Notifications); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if got[0].Write == c.quiet {
				t.Errorf("write is %t", got[0].Write)
			}
			// What was decided and stored is decided: the same world owes no more.
			if again := r.Reconcile([]audit.Record{got[0].Record}, c.ev); len(again) == 1 && again[0].Write && c.hold == (audit.Hold{}) {
				t.Errorf("the same world writes again: %s %+v", again[0].Why, again[0].Record.Notifications)
			}
		})
	}
}

func TestNoMoreIsToldThanIsKept(t *testing.T) {
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
	if len(first.Record.Notifications) != 7 {
		t.Errorf("%d are told", len(first.Record.Notifications))
	}
	if again := r.Reconcile([]audit.Record{first.Record}, ran(f))[0]; again.Write {
		t.Error("the same world is written again")
	}
}

func TestManyAnnouncementsAreAStorm(t *testing.T) {
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
