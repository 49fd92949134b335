package drill

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// TestQuietWhenNothingChanged sweeps a cluster with a thousand contested hosts twice. The
// second sweep only attempts to write the Lease.
func TestQuietWhenNothingChanged(t *testing.T) {
	c := published(t, kubetest.Guest)
	binary := build(t, c)
	applyClaims(t, c, claims{"left-1": hosts(0, 500), "right-1": hosts(0, 500), "left-2": hosts(500, 1000), "right-2": hosts(500, 1000)})

	first := followAuditLog(t, c)
	publish(t, c, binary)
	before, _ := stored(t, c)
	if len(before) != 1000 {
		t.Fatalf("%d findings are stored, want 1000", len(before))
	}
	count := tally(first.attempts(t, kubetest.Guest))
	t.Logf("first sweep: %v", count)
	if count["findings create"] != 1000 || count["findings/status update"] != 1000 {
		t.Errorf("attempted writes of the first sweep: %v", count)
	}

	second := followAuditLog(t, c)
	publish(t, c, binary)
	count = tally(second.attempts(t, kubetest.Guest))
	t.Logf("second sweep: %v", count)
	if count["leases update"] < 2 {
		t.Error("the Lease is not acquired and released")
	}
	delete(count, "leases update")
	if len(count) > 0 {
		t.Errorf("attempted writes without a change: %v", count)
	}
	now, _ := stored(t, c)
	if diff := cmp.Diff(versions(before), versions(now)); diff != "" {
		t.Errorf("findings written without a change (-before +after):\n%s", diff)
	}
}

// tally counts attempts by resource and verb.
func tally(attempts []event) map[string]int {
	n := map[string]int{}
	for _, e := range attempts {
		on := e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			on += "/" + e.ObjectRef.Subresource
		}
		n[on+" "+e.Verb]++
	}
	return n
}
