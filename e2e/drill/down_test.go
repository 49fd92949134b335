package drill

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// TestSlackIsDown runs three sweeps with changing claims while Slack is down. When it is
// up again, every notification arrives once with the current state: a finding that
// was resolved in the meantime is only reported as resolved.
func TestSlackIsDown(t *testing.T) {
	c := published(t, swift)
	sent := newDeliveries(t)
	applyClaims(t, c, claims{"left": hosts(0, 5), "right": nil, "third": nil})
	r := newReplica(t, c.Config(swift), swift, sent, newLeaseLock(t, c.Config(swift), swift))
	for _, sweep := range []struct {
		name    string
		claims  claims
		fault   fakeslack.Fault
		pending map[string]int
	}{
		{"four hosts are contested", claims{"right": hosts(0, 4)}, fakeslack.Fault{Status: 503}, map[string]int{"opened": 2 * 4}},
		{"one is released, another one is contested", claims{"right": hosts(1, 5)}, fakeslack.Fault{Cut: true}, map[string]int{"opened": 2 * 4, "resolved": 2}},
		{
			"one is claimed by a third team, another one is released",
			claims{"third": hosts(1, 2), "right": hosts(1, 4)},
			fakeslack.Fault{Error: "internal_error"},
			map[string]int{"opened": 2*3 + 1, "resolved": 2 * 2},
		},
	} {
		applyClaims(t, c, sweep.claims)
		sent.slack.Faults(func(fakeslack.Request) fakeslack.Fault { return sweep.fault })
		asked := len(sent.slack.Requests())
		sent.wait()
		deliveries := r.try(t)
		if len(deliveries) == 0 || len(sent.slack.Requests()) == asked {
			t.Errorf("%s: no delivery was attempted", sweep.name)
		}
		for _, d := range deliveries {
			if d.Result != audit.DeliveryFailed {
				t.Errorf("%s: delivery to %s: %s", sweep.name, d.Owner, d.Result)
			}
		}
		now, _ := stored(t, c)
		if diff := cmp.Diff(sweep.pending, countPending(t, now)); diff != "" {
			t.Errorf("%s: pending notifications (-want +got):\n%s", sweep.name, diff)
		}
	}
	if n := len(sent.messages()); n > 0 {
		t.Fatalf("%d messages arrived while Slack was down", n)
	}

	sent.slack.Faults(nil)
	sent.wait()
	r.sweep(t)
	want := map[notice]int{{channelOf("third"), isNew, hosts(1, 2)[0]}: 1, {channelOf("third"), isDetails, hosts(1, 2)[0]}: 1}
	for _, team := range []string{"left", "right"} {
		for _, host := range hosts(1, 4) {
			want[notice{channelOf(team), isNew, host}], want[notice{channelOf(team), isDetails, host}] = 1, 1
		}
		want[notice{channelOf(team), isResolved, hosts(0, 1)[0]}], want[notice{channelOf(team), isResolved, hosts(4, 5)[0]}] = 1, 1
	}
	if diff := cmp.Diff(want, countNotices(t, sent.messages()), cmp.AllowUnexported(notice{})); diff != "" {
		t.Errorf("notifications after the outage (-want +got):\n%s", diff)
	}
	sent.check(t)
	now, _ := stored(t, c)
	expectNothingPending(t, now)

	asked := len(sent.slack.Requests())
	r.sweep(t)
	if n := len(sent.slack.Requests()) - asked; n > 0 {
		t.Errorf("the next sweep sends %d more requests to Slack", n)
	}
	after, _ := stored(t, c)
	if diff := cmp.Diff(versions(now), versions(after)); diff != "" {
		t.Errorf("the next sweep writes findings (-before +after):\n%s", diff)
	}
}

// countPending counts pending notifications by event, and fails the test if one is
// claimed.
func countPending(t *testing.T, findings []v1alpha1.Finding) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, f := range findings {
		for _, m := range f.Status.Notifications {
			if m.Pending != "" {
				n[string(m.Pending)]++
			}
			if m.ClaimedBy != "" {
				t.Errorf("%s: %s still has a claim on a pending notification", f.Spec.Subject.Name, m.ClaimedBy)
			}
		}
	}
	return n
}
