package drill

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// TestSlackIsDown lets Slack be down for three sweeps, during which claims change.
// When it is up again everything arrives once, as it is then: what was mended
// meanwhile as mended alone, what changed as it is now.
func TestSlackIsDown(t *testing.T) {
	c := published(t, swift)
	told := newDeliveries(t)
	applyClaims(t, c, claims{"left": hosts(0, 5), "right": nil, "third": nil})
	r := newReplica(t, c.Config(swift), swift, told, newLeaseLock(t, c.Config(swift), swift))
	for _, sweep := range []struct {
		name   string
		claims claims
		fault  fakeslack.Fault
		due    map[string]int
	}{
		{"four hosts are contested", claims{"right": hosts(0, 4)}, fakeslack.Fault{Status: 503}, map[string]int{"opened": 2 * 4}},
		{"one is let go of, one comes to it", claims{"right": hosts(1, 5)}, fakeslack.Fault{Cut: true}, map[string]int{"opened": 2 * 4, "resolved": 2}},
		{
			"one is claimed by a third team, another is let go of",
			claims{"third": hosts(1, 2), "right": hosts(1, 4)},
			fakeslack.Fault{Error: "internal_error"},
			map[string]int{"opened": 2*3 + 1, "resolved": 2 * 2},
		},
	} {
		applyClaims(t, c, sweep.claims)
		told.slack.Faults(func(fakeslack.Request) fakeslack.Fault { return sweep.fault })
		asked := len(told.slack.Requests())
		deliveries := r.try(t)
		if len(deliveries) == 0 || len(told.slack.Requests()) == asked {
			t.Errorf("%s: nobody was to be told", sweep.name)
		}
		for _, d := range deliveries {
			if d.Result != audit.DeliveryFailed {
				t.Errorf("%s: %s is told: %s", sweep.name, d.Owner, d.Result)
			}
		}
		now, _ := stored(t, c)
		if diff := cmp.Diff(sweep.due, countPending(t, now)); diff != "" {
			t.Errorf("%s: stored to be told (-want +got):\n%s", sweep.name, diff)
		}
	}
	if n := len(told.messages()); n > 0 {
		t.Fatalf("%d messages arrived while Slack was down", n)
	}

	told.slack.Faults(nil)
	r.sweep(t)
	want := map[notice]int{{channelOf("third"), isNew, hosts(1, 2)[0]}: 1, {channelOf("third"), isDetails, hosts(1, 2)[0]}: 1}
	for _, team := range []string{"left", "right"} {
		for _, host := range hosts(1, 4) {
			want[notice{channelOf(team), isNew, host}], want[notice{channelOf(team), isDetails, host}] = 1, 1
		}
		want[notice{channelOf(team), isResolved, hosts(0, 1)[0]}], want[notice{channelOf(team), isResolved, hosts(4, 5)[0]}] = 1, 1
	}
	if diff := cmp.Diff(want, countNotices(t, told.messages()), cmp.AllowUnexported(notice{})); diff != "" {
		t.Errorf("what arrived when Slack was up again (-want +got):\n%s", diff)
	}
	told.check(t)
	now, _ := stored(t, c)
	expectNothingPending(t, now)

	asked := len(told.slack.Requests())
	r.sweep(t)
	if n := len(told.slack.Requests()) - asked; n > 0 {
		t.Errorf("the sweep after that makes %d more requests of Slack", n)
	}
	after, _ := stored(t, c)
	if diff := cmp.Diff(versions(now), versions(after)); diff != "" {
		t.Errorf("and writes findings (-before +after):\n%s", diff)
	}
}

// due counts what is to be told, and fails the test where somebody still has it.
func countPending(t *testing.T, findings []v1alpha1.Finding) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, f := range findings {
		for _, m := range f.Status.Notifications {
			if m.Pending != "" {
				n[string(m.Pending)]++
			}
			if m.ClaimedBy != "" {
				t.Errorf("%s: %s has taken what was not told", f.Spec.Subject.Name, m.ClaimedBy)
			}
		}
	}
	return n
}
