package drill

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// TestTellingNeedsNoFurtherRight publishes the same claims with the rights of the
// charts and no others, first where nobody is told and then where owners are. That
// writes the status of findings more often, and nothing else.
func TestTellingNeedsNoFurtherRight(t *testing.T) {
	c := published(t, kubetest.Guest)
	v := &victim{c: c, binary: build(t, c), slack: newWorkspace(t)}
	mute := &victim{c: c, binary: v.binary}
	// Claims that are as old as their object would have another cause than later ones.
	applyClaims(t, c, claims{"left": nil, "right": nil, "third": nil})
	time.Sleep(1100 * time.Millisecond)
	var silent, telling []map[string]int
	for _, run := range []struct {
		of  *victim
		all *[]map[string]int
	}{{mute, &silent}, {v, &telling}} {
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
		opened = 3 * 2 * 3         // three findings, two owners, of each mark: taken, opened, detailed
		became = (2+2)*2 + (2+1)*3 // resolved and changed for two; opened for two, and for the third
	)
	if len(v.slack.Messages()) == 0 {
		t.Error("nobody was told")
	}
	for i, marks := range []int{opened, became} {
		silent[i][status] += marks
		for _, of := range []map[string]int{silent[i], telling[i]} {
			delete(of, "leases update") // it is renewed for as long as it takes
		}
		if diff := cmp.Diff(silent[i], telling[i]); diff != "" {
			t.Errorf("attempts to write in round %d (-without Slack, and %d marks +with Slack):\n%s", i, marks, diff)
		}
	}
}

// within fails the test where an attempt was made outside of the site, or refused for
// lack of a right.
func expectOnlyOwnNamespace(t *testing.T, c site, attempts []event) {
	t.Helper()
	for _, e := range attempts {
		if e.ObjectRef.Namespace != c.namespace || e.ResponseStatus.Code == http.StatusForbidden {
			t.Errorf("%s %s in %q: %d", e.Verb, e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ResponseStatus.Code)
		}
	}
}
