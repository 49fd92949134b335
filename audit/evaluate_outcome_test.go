package audit_test

import (
	"errors"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestEvaluateRuleOutcomeByStatusOfItsKinds(t *testing.T) {
	read := func(kind snapshot.Kind, s snapshot.Status) snapshot.Read { return snapshot.Read{Kind: kind, Status: s} }
	for _, c := range []struct {
		name  string
		needs []snapshot.Kind
		reads []snapshot.Read
		want  audit.Outcome
	}{
		{
			name:  "a rule runs when all that it needs was listed, though another kind is forbidden",
			needs: []snapshot.Kind{snapshot.Namespaces},
			reads: []snapshot.Read{read(snapshot.Pods, snapshot.Forbidden)},
			want:  audit.Outcome{Rule: "probe", Status: audit.RuleRan},
		}, {
			name:  "a kind that the server does not serve counts as empty",
			needs: []snapshot.Kind{snapshot.NetworkPolicies},
			reads: []snapshot.Read{read(snapshot.NetworkPolicies, snapshot.Absent)},
			want:  audit.Outcome{Rule: "probe", Status: audit.RuleRan},
		}, {
			name:  "a rule is skipped when a kind that it needs is forbidden",
			needs: []snapshot.Kind{snapshot.Namespaces, snapshot.NetworkPolicies},
			reads: []snapshot.Read{read(snapshot.NetworkPolicies, snapshot.Forbidden)},
			want: audit.Outcome{
				Rule: "probe", Status: audit.RuleSkipped, Reason: "networkpolicies.networking.k8s.io forbidden",
			},
		}, {
			name:  "a rule is skipped when a kind that it needs was not read to its end",
			needs: []snapshot.Kind{snapshot.Pods},
			reads: []snapshot.Read{read(snapshot.Pods, snapshot.Failed)},
			want:  audit.Outcome{Rule: "probe", Status: audit.RuleSkipped, Reason: "pods failed"},
		}, {
			name:  "a rule is skipped when nobody asked for a kind that it needs",
			needs: []snapshot.Kind{"gadgets.example.com"},
			want: audit.Outcome{
				Rule: "probe", Status: audit.RuleSkipped, Reason: "gadgets.example.com failed",
			},
		}, {
			name:  "the reason names every kind that is missing",
			needs: []snapshot.Kind{snapshot.Deployments, snapshot.Namespaces, snapshot.Pods},
			reads: []snapshot.Read{read(snapshot.Deployments, snapshot.Forbidden), read(snapshot.Pods, snapshot.Failed)},
			want: audit.Outcome{
				Rule: "probe", Status: audit.RuleSkipped, Reason: "deployments.apps forbidden, pods failed",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			probe := violates("probe", "shop")
			probe.Needs = c.needs
			ev := audit.Evaluate(freeze(snapshot.Facts{}, c.reads...), []*rules.Rule{probe}, parse(t, ""), now, nil)
			if diff := cmp.Diff([]audit.Outcome{c.want}, ev.Rules); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			if found := len(ev.Findings) > 0; found != (c.want.Status == audit.RuleRan) {
				t.Errorf("the rule %s, and there are %d findings of it", c.want.Status, len(ev.Findings))
			}
		})
	}
}

func TestEvaluateRuleThatPanicsHasFailedWhereItPanicked(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(rules.Input) (rules.Result, error)
		want string // pattern of the whole reason
	}{
		{
			name: "a read outside the declared kinds names the kind and the line that refused it",
			run: func(in rules.Input) (rules.Result, error) {
				in.View.Pods()
				return rules.Result{}, nil
			},
			want: `panic: read of pods, which the rule does not declare at rules/snapshot/view\.go:\d+`,
		}, {
			name: "an error of the runtime names the innermost line of the rules",
			run: func(rules.Input) (rules.Result, error) {
				var none *rules.Rule
				return rules.Result{}, errors.New(none.Title())
			},
			want: `panic: runtime error: .*nil pointer dereference at rules/rule\.go:\d+`,
		}, {
			name: "a panic outside the rules has no line that could be named",
			run:  func(rules.Input) (rules.Result, error) { panic(errors.New("boom")) },
			want: `panic: boom at an unknown place`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := []*rules.Rule{violates("before", "shop"), rule("probe", c.run), violates("with-others", "shop")}
			ev := audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, ""), now, nil)
			if got := ev.Rules[1]; got.Status != audit.RuleFailed || !regexp.MustCompile("^"+c.want+"$").MatchString(got.Reason) {
				t.Errorf("got %s: %q, want failed: %s", got.Status, got.Reason, c.want)
			}
			if ev.Rules[0].Status != audit.RuleRan || ev.Rules[2].Status != audit.RuleRan || len(ev.Findings) != 2 {
				t.Errorf("the other rules did not judge: %v, %d findings", ev.Rules, len(ev.Findings))
			}
		})
	}
}

// What a rule found before it broke is half the truth, which looks like the
// whole.
func TestEvaluateRuleThatErrsSaysNothingElse(t *testing.T) {
	probe := rule("probe", func(rules.Input) (rules.Result, error) {
		s := rules.Subject{Kind: rules.SubjectNamespace, Name: "shop"}
		return rules.Result{
			Violations: []rules.Violation{{Subject: s}},
			Advisories: []rules.Advisory{{Subject: s}},
			Isolation:  []rules.Isolation{{Namespace: "shop"}},
		}, errors.New("selector: too deep")
	})
	ev := audit.Evaluate(freeze(snapshot.Facts{}), []*rules.Rule{probe}, parse(t, ""), now, nil)
	want := []audit.Outcome{{Rule: "probe", Status: audit.RuleFailed, Reason: "selector: too deep"}}
	if diff := cmp.Diff(want, ev.Rules); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if len(ev.Findings)+len(ev.Advisories)+len(ev.Isolation) > 0 {
		t.Errorf("a rule that erred still says %+v", ev)
	}
}
