package drill

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// TestQuietWhenNothingChanged sweeps a cluster of a thousand contested hosts twice.
// The second time nothing but the Lease is even attempted to be written.
func TestQuietWhenNothingChanged(t *testing.T) {
	c := published(t, kubetest.Guest)
	binary := build(t, c)
	applyClaims(t, c, claims{"left-1": hosts(0, 500), "right-1": hosts(0, 500), "left-2": hosts(500, 1000), "right-2": hosts(500, 1000)})

	first := followAuditLog(t, c)
	publish(t, c, binary)
	before, _ := stored(t, c)
	if len(before) != 1000 {
		t.Fatalf("%d findings are stored of a thousand", len(before))
	}
	count := tally(first.attempts(t, kubetest.Guest))
	t.Logf("first sweep: %v", count)
	if count["findings create"] != 1000 || count["findings/status update"] != 1000 {
		t.Errorf("the first sweep attempts %v", count)
	}

	second := followAuditLog(t, c)
	publish(t, c, binary)
	count = tally(second.attempts(t, kubetest.Guest))
	t.Logf("second sweep: %v", count)
	if count["leases update"] < 2 {
		t.Error("the lease is not taken and given back")
	}
	delete(count, "leases update")
	if len(count) > 0 {
		t.Errorf("a sweep of an unchanged cluster attempts %v", count)
	}
	now, _ := stored(t, c)
	if diff := cmp.Diff(versions(before), versions(now)); diff != "" {
		t.Errorf("a sweep of an unchanged cluster wrote (-before +after):\n%s", diff)
	}
}

// tally counts attempts by what they are on and the verb.
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
