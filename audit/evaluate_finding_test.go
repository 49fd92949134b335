package audit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestEvaluateFindingHoldsAllOfItsViolation(t *testing.T) {
	ingress := func(namespace string, created time.Time) rules.Object {
		return rules.Object{
			Ref:   snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: namespace, Name: "web"},
			Owner: namespace, Created: created, Reason: "rule", Detail: "host of a rule",
		}
	}
	older, newer, undated := ingress("b", now.Add(-time.Hour)), ingress("a", now), ingress("c", time.Time{})
	violation := rules.Violation{
		Subject: rules.Subject{Kind: rules.SubjectHost, Name: "shop.example.com"},
		Verdict: "contested",
		Owners:  []rules.Owner{{Name: "team-b"}, {Namespace: "c"}, {Name: "team-a"}, {Name: "team-b"}},
		Message: "is claimed twice", Cause: "a race", Remedy: "agree",
		Objects: []rules.Object{undated, newer, older},
	}
	set := []*rules.Rule{finds("probe", rules.Result{Violations: []rules.Violation{violation}})}
	ev := audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, ""), now, nil)
	want := []audit.Finding{{
		ID: rules.ID("probe", violation.Subject), Rule: "probe", Severity: rules.High,
		Subject: violation.Subject, Verdict: "contested",
		Owners:  []string{"namespace c", "team-a", "team-b"},
		Message: "is claimed twice", Cause: "a race", Remedy: "agree",
		State: audit.StateOpen, FirstSeen: now,
		Objects: []rules.Object{older, newer, undated},
	}}
	if diff := cmp.Diff(want, ev.Findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(undated, violation.Objects[0]); diff != "" {
		t.Errorf("the rule's own list was sorted (-want +got):\n%s", diff)
	}
}

func TestEvaluateSeverity(t *testing.T) {
	for _, c := range []struct {
		name    string
		config  string
		lighter uint8
		want    rules.Severity
	}{
		{name: "is the rule's own", want: rules.High},
		{name: "is the config's where the config names one", config: "rules: {probe: {severity: medium}}", want: rules.Medium},
		{name: "is lighter by as many steps as the violation says", lighter: 1, want: rules.Medium},
		{name: "is lighter than the config's as well", config: "rules: {probe: {severity: medium}}", lighter: 1, want: rules.Low},
		{name: "is low at least", config: "rules: {probe: {severity: low}}", lighter: 200, want: rules.Low},
	} {
		t.Run(c.name, func(t *testing.T) {
			probe := finds("probe", rules.Result{Violations: []rules.Violation{{Downgrade: c.lighter}}})
			ev := audit.Evaluate(freeze(snapshot.Facts{}), []*rules.Rule{probe}, parse(t, c.config, probe), now, nil)
			if got := ev.Findings[0].Severity; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestEvaluateNamesOwners(t *testing.T) {
	known, other := rules.Owner{Name: "team-b", Namespace: "b"}, rules.Owner{Name: "team-a", Namespace: "a"}
	nobody, nobodyElse := rules.Owner{Namespace: "shop"}, rules.Owner{Namespace: "apps"}
	for _, c := range []struct {
		name   string
		config string
		owners []rules.Owner
		want   []string
	}{
		{"known owners are named once, sorted", "", []rules.Owner{known, other, known}, []string{"team-a", "team-b"}},
		{"a namespace stands for an owner who is not known", "", []rules.Owner{nobody, nobodyElse}, []string{"namespace apps", "namespace shop"}},
		{"the fallback stands for all who are not known", "owners: {fallback: ops}", []rules.Owner{nobody, nobodyElse}, []string{"ops"}},
		{"the fallback is told beside a known owner", "owners: {fallback: ops}", []rules.Owner{known, nobody}, []string{"ops", "team-b"}},
		{"the fallback is not told where all owners are known", "owners: {fallback: ops}", []rules.Owner{known}, []string{"team-b"}},
		{"nobody is an empty list, which is printed as one", "", nil, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := []*rules.Rule{finds("probe", rules.Result{
				Violations: []rules.Violation{{Owners: c.owners}},
				Advisories: []rules.Advisory{{Owners: c.owners}},
			})}
			ev := audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, c.config), now, nil)
			if diff := cmp.Diff(c.want, ev.Findings[0].Owners); diff != "" {
				t.Errorf("of the finding (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, ev.Advisories[0].Owners); diff != "" {
				t.Errorf("of the advisory (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvaluateHandsSettingsToRules(t *testing.T) {
	probe := rule("probe", nil)
	probe.Settings = []rules.Setting{rules.SettingDirections, rules.SettingExemptNamespaces}
	probe.Run = func(in rules.Input) (rules.Result, error) {
		if diff := cmp.Diff([]snapshot.Direction{snapshot.DirectionEgress}, in.Directions); diff != "" {
			t.Errorf("directions (-want +got):\n%s", diff)
		}
		if !in.Exempt("sandbox-7") || in.Exempt("shop") || in.Exempt("kube-system") {
			t.Error("the exempt namespaces are not those of the config")
		}
		return rules.Result{}, nil
	}
	text := `rules: {probe: {directions: [Egress], exemptNamespaces: ["sandbox-*"]}}`
	ev := audit.Evaluate(freeze(snapshot.Facts{}), []*rules.Rule{probe}, parse(t, text, probe), now, nil)
	if ev.Rules[0].Status != audit.RuleRan {
		t.Errorf("the rule has not run: %+v", ev.Rules[0])
	}
}
