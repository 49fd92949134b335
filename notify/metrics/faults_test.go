package metrics_test

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/metrics"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Objects that could not be evaluated are counted by the owners of the config, and the
// sweep is complete for the other alerts.
func TestObjectFaults(t *testing.T) {
	s := halfResolved(day)
	s.Result.Faults = nil
	for _, owner := range []string{"team-a", "team-a", "made up"} {
		f := audit.ObjectFault{Fault: snapshot.Fault{Ref: snapshot.Ref{Kind: "Ingress", Namespace: "shop", Name: "big"}, Reason: "it has 60000 hosts"}, Owner: owner}
		s.Result.Faults = append(s.Result.Faults, f)
	}
	before := s.Complete()
	if s.Result.Complete() || !s.Result.Swept() || !before {
		t.Errorf("complete %t, swept %t, in the metrics %t", s.Result.Complete(), s.Result.Swept(), before)
	}
	e := metrics.NewExporter("prod", values())
	e.Update(s)
	text := served(t, e)
	for _, want := range []string{
		`audit_object_faults{cluster="prod",owner="team-a"} 2`, `audit_object_faults{cluster="prod",owner="other"} 1`, `audit_sweep_complete{cluster="prod"} 1`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
