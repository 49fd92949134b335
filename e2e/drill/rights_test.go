package drill

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// TestNotifyingNeedsNoFurtherRights publishes the same claims with only the rights in the
// charts folder, first without and then with notifications. With notifications, the
// status of findings is written more often, and nothing else changes.
func TestNotifyingNeedsNoFurtherRights(t *testing.T) {
	c := published(t, kubetest.Guest)
	v := &victim{c: c, binary: build(t, c), slack: newWorkspace(t)}
	quiet := &victim{c: c, binary: v.binary}
	// Claims that are as old as their object have another cause than later ones.
	applyClaims(t, c, claims{"left": nil, "right": nil, "third": nil})
	time.Sleep(1100 * time.Millisecond)
	var without, with []map[string]int
	for _, run := range []struct {
		of  *victim
		all *[]map[string]int
	}{{quiet, &without}, {v, &with}} {
		run.of.restore(t)
		for _, all := range []claims{first, changed} {
			applyClaims(t, c, all)
			log := followAuditLog(t, c)
			run.of.publish(t)
			attempts := log.attempts(t, kubetest.Guest)
			expectOnlyOwnNamespace(t, c, attempts)
			*run.all = append(*run.all, tally(attempts))
		}
	}
	const (
		status = "findings/status update"
		opened = 3 * 2 * 3         // three findings, two owners, three writes each: claimed, opened, details
		became = (2+2)*2 + (2+1)*3 // resolved and changed for two owners; opened for two owners, and for the third
	)
	if len(v.slack.Messages()) == 0 {
		t.Error("no one was notified")
	}
	for i, more := range []int{opened, became} {
		without[i][status] += more
		for _, of := range []map[string]int{without[i], with[i]} {
			delete(of, "leases update") // the number of renewals depends on the time
		}
		if diff := cmp.Diff(without[i], with[i]); diff != "" {
			t.Errorf("attempted writes in round %d (-without Slack, plus %d +with Slack):\n%s", i, more, diff)
		}
	}
}

// expectOnlyOwnNamespace fails the test if a write was attempted outside the site's
// namespace or was forbidden.
func expectOnlyOwnNamespace(t *testing.T, c site, attempts []event) {
	t.Helper()
	for _, e := range attempts {
		if e.ObjectRef.Namespace != c.namespace || e.ResponseStatus.Code == http.StatusForbidden {
			t.Errorf("%s %s in %q: %d", e.Verb, e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ResponseStatus.Code)
		}
	}
}
