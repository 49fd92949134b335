package audit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
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
		{"all are known", snapshot.Listed, snapshot.Listed, audit.Outcome{Rule: rule.Name, Status: audit.RuleRan}},
		{
			"one is forbidden", snapshot.Forbidden, snapshot.Listed,
			audit.Outcome{Rule: rule.Name, Status: audit.RuleSkipped, Reason: "routes.route.openshift.io forbidden"},
		},
		{
			"both are unknown", snapshot.Forbidden, snapshot.Failed,
			audit.Outcome{Rule: rule.Name, Status: audit.RuleSkipped, Reason: "httpproxies.projectcontour.io failed, routes.route.openshift.io forbidden"},
		},
	} {
		var b snapshot.Builder
		b.Expand(snapshot.HostSources, routes, proxies)
		b.Add(snapshot.Facts{}, snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Listed},
			snapshot.Read{Kind: routes, Status: c.routes}, snapshot.Read{Kind: proxies, Status: c.proxies})
		conf := config.Default()
		ev := audit.Evaluate(b.Freeze(), []*rules.Rule{rule}, &conf, time.Now(), nil)
		if diff := cmp.Diff([]audit.Outcome{c.want}, ev.Rules); diff != "" {
			t.Errorf("where %s (-want +got):\n%s", c.says, diff)
		}
	}
}

// Of a Route that cannot be read any more it is not known whether it still claims
// the host, so the finding stays; once it is on its way out it claims nothing.
func TestReconcileWithAnUnreadClaimant(t *testing.T) {
	route := func(team string) snapshot.HostObject {
		return snapshot.HostObject{
			Meta:  snapshot.Meta{Group: "route.openshift.io", Kind: "Route", Namespace: team, Name: "shop"},
			Hosts: []snapshot.HostPattern{{Host: "shop.example.com"}},
		}
	}
	unread := route("team-b")
	unread.Hosts, unread.Err = nil, "no such key: spec"
	leaving := unread
	leaving.Deleting = true
	conf := config.Default()
	rule := hosts.Rule()
	judge := func(routes ...snapshot.HostObject) *audit.Evaluation {
		var b snapshot.Builder
		b.Add(snapshot.Facts{HostObjects: routes})
		for _, kind := range rule.Needs {
			b.Add(snapshot.Facts{}, snapshot.Read{Kind: kind, Status: snapshot.Listed})
		}
		ev := audit.Evaluate(b.Freeze(), []*rules.Rule{rule}, &conf, now, nil)
		return &ev
	}
	hold := func(string) audit.Hold { return audit.Hold{} }
	r := audit.Reconciler{Now: now, Hold: hold, MaxNew: 10}
	opened := r.Reconcile(nil, judge(route("team-a"), route("team-b")))
	if len(opened) != 1 || opened[0].Why != audit.ReasonOpened {
		t.Fatalf("got %+v", opened)
	}
	for _, c := range []struct {
		says string
		last snapshot.HostObject
		want audit.Reason
	}{{"it is unread", unread, audit.ReasonCarriedOver}, {"it is unread and leaving", leaving, audit.ReasonResolved}} {
		got := r.Reconcile([]audit.Record{opened[0].Record}, judge(route("team-a"), c.last))
		if len(got) != 1 || got[0].Why != c.want {
			t.Errorf("where %s: got %+v, want %s", c.says, got, c.want)
		}
	}
}
