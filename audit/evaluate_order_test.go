package audit_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func namespaceSubject(name, detail string) rules.Subject {
	return rules.Subject{Kind: rules.SubjectNamespace, Name: name, Detail: detail}
}

func hostSubject(name string) rules.Subject {
	return rules.Subject{Kind: rules.SubjectHost, Name: name}
}

// results are those of two rules, in no order that anybody would want.
func results() (hosts, deny rules.Result) {
	hosts = rules.Result{
		Violations: []rules.Violation{
			{Subject: hostSubject("b.example.com")},
			{Subject: hostSubject("a.example.com")},
			{Subject: hostSubject("c.example.com"), Downgrade: 1},
		},
		Advisories: []rules.Advisory{
			{Subject: hostSubject("a.example.com"), Message: "second"}, {Subject: hostSubject("a.example.com"), Message: "first"},
		},
	}
	deny = rules.Result{
		Violations: []rules.Violation{
			{Subject: namespaceSubject("shop", "Ingress")},
			{Subject: namespaceSubject("shop", "Egress")},
			{Subject: namespaceSubject("apps", "Ingress")},
			{Subject: namespaceSubject("zoo", "Egress"), Downgrade: 2},
		},
		Advisories: []rules.Advisory{{Subject: namespaceSubject("b", "")}, {Subject: namespaceSubject("a", "")}},
		Isolation:  []rules.Isolation{{Namespace: "shop"}, {Namespace: "apps"}},
	}
	return hosts, deny
}

func TestEvaluateSortsAllThatItReturns(t *testing.T) {
	hosts, deny := results()
	set := []*rules.Rule{finds("one-owner-per-host", hosts), finds("default-deny-present", deny)}
	ev := audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, ""), now, nil)

	var got []string
	for _, o := range ev.Rules {
		got = append(got, "rule "+o.Rule)
	}
	for _, f := range ev.Findings {
		got = append(got, "finding "+f.Severity.String()+" "+f.Subject.String())
	}
	for _, a := range ev.Advisories {
		got = append(got, "advisory "+a.Subject.String()+" "+a.Message)
	}
	for _, i := range ev.Isolation {
		got = append(got, "isolation "+i.Namespace)
	}
	want := []string{
		"rule default-deny-present", "rule one-owner-per-host",
		"finding high apps (Ingress)", "finding high shop (Egress)", "finding high shop (Ingress)",
		"finding high a.example.com", "finding high b.example.com",
		"finding medium c.example.com",
		"finding low zoo (Egress)",
		"advisory a ", "advisory b ",
		"advisory a.example.com first", "advisory a.example.com second",
		"isolation apps", "isolation shop",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestEvaluateOrderOfRulesAndResultsChangesNothing(t *testing.T) {
	evaluate := func(shuffle func(n int, swap func(i, j int))) audit.Evaluation {
		hosts, deny := results()
		for _, r := range []*rules.Result{&hosts, &deny} {
			shuffle(len(r.Violations), func(i, j int) { r.Violations[i], r.Violations[j] = r.Violations[j], r.Violations[i] })
			shuffle(len(r.Advisories), func(i, j int) { r.Advisories[i], r.Advisories[j] = r.Advisories[j], r.Advisories[i] })
			shuffle(len(r.Isolation), func(i, j int) { r.Isolation[i], r.Isolation[j] = r.Isolation[j], r.Isolation[i] })
		}
		set := []*rules.Rule{finds("one-owner-per-host", hosts), finds("default-deny-present", deny)}
		shuffle(len(set), func(i, j int) { set[i], set[j] = set[j], set[i] })
		return audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, ""), now, nil)
	}
	want := evaluate(func(int, func(i, j int)) {})
	for seed := range uint64(20) {
		got := evaluate(rand.New(rand.NewPCG(seed, seed)).Shuffle)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("shuffled with seed %d (-plain +shuffled):\n%s", seed, diff)
		}
	}
}

func TestEvaluateGivesEachSubjectOfEachRuleAnIdentityOfItsOwn(t *testing.T) {
	_, deny := results()
	set := []*rules.Rule{finds("default-deny-present", deny), finds("owner-known", deny)}
	ev := audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, ""), now, nil)
	var ids []string
	for _, f := range ev.Findings {
		ids = append(ids, f.ID)
	}
	slices.Sort(ids)
	if distinct := len(slices.Compact(slices.Clone(ids))); distinct != 2*len(deny.Violations) {
		t.Errorf("%d findings share identities: %q", len(ids), ids)
	}
}
