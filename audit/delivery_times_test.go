package audit_test

import (
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// A publisher whose clock was ahead leaves times that would silence a finding for as
// long. They are corrected once, and a difference that clocks usually have is not.
func TestTimesInTheFutureAreCorrected(t *testing.T) {
	for _, c := range []struct {
		ahead time.Duration
		write bool
	}{{30 * time.Second, false}, {48 * time.Hour, true}} {
		future := now.Add(c.ahead)
		n := notification("", audit.EventOpened)
		n.At, n.Error, n.Claim.At = future, "is_archived", future
		r := audit.Reconciler{Now: now, Keep: time.Hour, Hold: func(string) audit.Hold { return audit.Hold{} }, Senders: func(string, string) []string { return []string{"slack"} }}
		stored := record(audit.StateOpen, func(r *audit.Record) {
			r.FirstSeen, r.OpenedAt, r.Notifications = future, future, []audit.Notification{n}
		})
		got := r.Reconcile(stored, ran(shop()))[0]
		if got.Write != c.write {
			t.Errorf("%s ahead: write is %t", c.ahead, got.Write)
		}
		m := got.Record.Notifications[0]
		for _, at := range []time.Time{got.Record.FirstSeen, got.Record.OpenedAt, m.At, m.Claim.At} {
			if c.write && at.After(now) {
				t.Errorf("%s ahead: %s", c.ahead, at)
			}
		}
		if again := r.Reconcile([]audit.Record{got.Record}, ran(shop()))[0]; again.Write {
			t.Errorf("%s ahead: it is written again", c.ahead)
		}
	}
}

// The time of a claim identifies it.
func TestTimeOfAClaimIsKept(t *testing.T) {
	n := notification(audit.EventOpened, "")
	n.Claim = audit.Claim{By: "p", At: now.Add(48 * time.Hour)}
	r := audit.Reconciler{Now: now, Keep: time.Hour, Hold: func(string) audit.Hold { return audit.Hold{} }, Senders: func(string, string) []string { return []string{"slack"} }}
	got := r.Reconcile(record(audit.StateOpen, notified(n)), ran(shop()))[0]
	if m := got.Record.Notifications[0]; m.Claim != n.Claim {
		t.Errorf("the claim became %+v", m.Claim)
	}
}
