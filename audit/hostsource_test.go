package audit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// A rule that needs host sources is skipped where one of them is unknown, and
// says which.
func TestEvaluateWithoutAHostSource(t *testing.T) {
	rule := &rules.Rule{
		Name: "needs-hosts", Subject: rules.SubjectHost, Severity: rules.High,
		Needs: []snapshot.Kind{snapshot.HostSources, snapshot.Namespaces},
		Run:   func(rules.Input) (rules.Result, error) { return rules.Result{}, nil },
	}
	const routes, proxies snapshot.Kind = "routes.route.openshift.io", "httpproxies.projectcontour.io"
	for _, c := range []struct {
		says            string
		routes, proxies snapshot.Status
		want            audit.Outcome
	}{
		{"all are known", snapshot.Listed, snapshot.Listed, audit.Outcome{Rule: rule.Name, Status: audit.Ran}},
		{
			"one is forbidden", snapshot.Forbidden, snapshot.Listed,
			audit.Outcome{Rule: rule.Name, Status: audit.Skipped, Reason: "routes.route.openshift.io forbidden"},
		},
		{
			"both are unknown", snapshot.Forbidden, snapshot.Failed,
			audit.Outcome{Rule: rule.Name, Status: audit.Skipped, Reason: "httpproxies.projectcontour.io failed, routes.route.openshift.io forbidden"},
		},
	} {
		var b snapshot.Builder
		b.Expand(snapshot.HostSources, routes, proxies)
		b.Add(snapshot.Facts{}, snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Listed},
			snapshot.Read{Kind: routes, Status: c.routes}, snapshot.Read{Kind: proxies, Status: c.proxies})
		conf := config.Default()
		ev := audit.Evaluate(b.Freeze(), []*rules.Rule{rule}, &conf, time.Now())
		if diff := cmp.Diff([]audit.Outcome{c.want}, ev.Rules); diff != "" {
			t.Errorf("where %s (-want +got):\n%s", c.says, diff)
		}
	}
}
