package audit_test

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
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
			name:  "a rule is skipped if a kind that it needs was not requested",
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
			want: `panic: boom at an unknown location`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := []*rules.Rule{violates("before", "shop"), rule("probe", c.run), violates("with-others", "shop")}
			ev := audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, ""), now, nil)
			if got := ev.Rules[1]; got.Status != audit.RuleFailed || !regexp.MustCompile("^"+c.want+"$").MatchString(got.Reason) {
				t.Errorf("got %s: %q, want failed: %s", got.Status, got.Reason, c.want)
			}
			if ev.Rules[0].Status != audit.RuleRan || ev.Rules[2].Status != audit.RuleRan || len(ev.Findings) != 2 {
				t.Errorf("the other rules did not run: %v, %d findings", ev.Rules, len(ev.Findings))
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
		Subject: violation.Subject, Verdict: "contested", Culprit: "c", // of the newest object
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
		{"a namespace takes the place of an unknown owner", "", []rules.Owner{nobody, nobodyElse}, []string{"namespace apps", "namespace shop"}},
		{"the fallback takes the place of all unknown owners", "owners: {fallback: ops}", []rules.Owner{nobody, nobodyElse}, []string{"ops"}},
		{"the fallback is notified beside a known owner", "owners: {fallback: ops}", []rules.Owner{known, nobody}, []string{"ops", "team-b"}},
		{"the fallback is not notified if all owners are known", "owners: {fallback: ops}", []rules.Owner{known}, []string{"team-b"}},
		{"no owner is an empty list, which is printed as one", "", nil, []string{}},
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

func TestFindingKeepsTheTimeItWasFirstSeen(t *testing.T) {
	subject := namespaceSubject("shop", "")
	probe := &rules.Rule{
		Name: "probe", Severity: rules.Low, Needs: []snapshot.Kind{snapshot.Namespaces},
		Run: func(in rules.Input) (rules.Result, error) {
			return rules.Result{Violations: []rules.Violation{{Subject: subject}}}, nil
		},
	}
	var b snapshot.Builder
	b.Add(snapshot.Facts{}, snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Listed})
	snap := b.Freeze()
	for _, c := range []struct {
		name string
		seen map[string]time.Time
		want time.Time
	}{
		{"seen by no earlier sweep, it is seen now", nil, now},
		{"seen before, it keeps that time", map[string]time.Time{rules.ID("probe", subject): now.Add(-time.Hour)}, now.Add(-time.Hour)},
		{"a time to come is not believed", map[string]time.Time{rules.ID("probe", subject): now.Add(time.Hour)}, now},
		{"another finding's time is not its own", map[string]time.Time{"probe-0": now.Add(-time.Hour)}, now},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := parse(t, "")
			ev := audit.Evaluate(snap, []*rules.Rule{probe}, config, now, &audit.Previous{FirstSeen: c.seen})
			if got := ev.Findings[0].FirstSeen; !got.Equal(c.want) {
				t.Errorf("first seen %s, want %s", got, c.want)
			}
		})
	}
}

func TestRuleGetsWhatAnEarlierSweepSaw(t *testing.T) {
	earlier := &audit.Previous{At: now, Isolation: map[string]rules.Isolation{
		"shop":   {Ingress: rules.Present, Egress: rules.Missing},
		"closed": {Ingress: rules.Present, Egress: rules.Present, NotEvaluated: [2][]string{snapshot.DirectionIngress: {"policies"}}},
	}}
	var got []rules.Previous
	probe := &rules.Rule{
		Name: "probe", Severity: rules.Low, Needs: []snapshot.Kind{snapshot.Namespaces},
		Run: func(in rules.Input) (rules.Result, error) {
			got = append(got, in.Previous("shop", snapshot.DirectionIngress), in.Previous("shop", snapshot.DirectionEgress),
				in.Previous("closed", snapshot.DirectionIngress), in.Previous("closed", snapshot.DirectionEgress),
				in.Previous("other", snapshot.DirectionIngress))
			return rules.Result{}, nil
		},
	}
	var b snapshot.Builder
	b.Add(snapshot.Facts{}, snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Listed})
	audit.Evaluate(b.Freeze(), []*rules.Rule{probe}, parse(t, ""), now, earlier)
	want := []rules.Previous{{State: rules.Present, At: now}, {State: rules.Missing, At: now}, {}, {State: rules.Present, At: now}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("notified (-want +got):\n%s", diff)
	}
}

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
