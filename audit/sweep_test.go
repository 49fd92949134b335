package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// source hands over the same things in each sweep and remembers what it was
// asked for.
type source struct {
	facts   snapshot.Facts
	reads   []snapshot.Read
	reading audit.Reading
	err     error
	asked   []snapshot.Kind
}

func (s *source) Read(_ context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	s.asked = kinds
	b.Add(s.facts, s.reads...)
	return s.reading, s.err
}

// ticking returns a clock that begins at now and goes a second with each look.
func ticking() func() time.Time {
	at := now
	return func() time.Time {
		defer func() { at = at.Add(time.Second) }()
		return at
	}
}

func TestSweepTellsWhatWasReadAndJudged(t *testing.T) {
	src := &source{
		facts: snapshot.Facts{Namespaces: []snapshot.Namespace{{Meta: snapshot.Meta{Kind: "Namespace", Name: "shop"}}}},
		reads: []snapshot.Read{
			{Kind: snapshot.Pods, Version: "v1", Status: snapshot.Forbidden, Err: "no right to list pods"},
			{Kind: snapshot.Namespaces, Version: "v1", Status: snapshot.Listed, Items: 1},
		},
		reading: audit.Reading{
			Problems: []audit.Problem{{Where: "z.yaml document 1"}, {Where: "a.yaml document 2"}},
			Ignored: []audit.IgnoredKind{
				{Group: "example.com", Version: "v1", Kind: "Shop", Items: 1},
				{Version: "v1", Kind: "Secret", Items: 2},
				{Version: "v1", Kind: "ConfigMap", Items: 1},
				{Group: "example.com", Version: "v1", Kind: "Ingress", Items: 1},
				{Group: "example.com", Version: "v1alpha1", Kind: "Ingress", Items: 1},
			},
		},
	}
	probe := rule("probe", func(in rules.Input) (rules.Result, error) {
		var res rules.Result
		for ns := range in.View.Namespaces() {
			subject := namespaceSubject(ns.Name, "")
			res.Violations = append(res.Violations, rules.Violation{Subject: subject, Owners: []rules.Owner{in.Owner(&ns.Meta)}})
			res.Advisories = append(res.Advisories, rules.Advisory{Subject: subject, Message: "look"})
			res.Isolation = append(res.Isolation, rules.Isolation{Namespace: ns.Name})
		}
		return res, nil
	})
	got, err := audit.Sweep(t.Context(), src, []*rules.Rule{probe}, parse(t, "cluster: prod-eu-1"), ticking(), nil)
	if err != nil {
		t.Fatal(err)
	}
	subject := namespaceSubject("shop", "")
	want := &audit.Result{
		Cluster: "prod-eu-1", Started: now, Finished: now.Add(2 * time.Second),
		Namespaces: []string{"shop"},
		Reads:      []snapshot.Read{src.reads[1], src.reads[0]},
		Ignored: []audit.IgnoredKind{
			{Version: "v1", Kind: "ConfigMap", Items: 1},
			{Version: "v1", Kind: "Secret", Items: 2},
			{Group: "example.com", Version: "v1", Kind: "Ingress", Items: 1},
			{Group: "example.com", Version: "v1alpha1", Kind: "Ingress", Items: 1},
			{Group: "example.com", Version: "v1", Kind: "Shop", Items: 1},
		},
		Problems: []audit.Problem{{Where: "z.yaml document 1"}, {Where: "a.yaml document 2"}},
		Rules:    []audit.Outcome{{Rule: "probe", Status: audit.RuleRan}},
		Findings: []audit.Finding{{
			ID: rules.ID("probe", subject), Rule: "probe", Severity: rules.High, Subject: subject,
			Owners: []string{"namespace shop"}, State: audit.StateOpen, FirstSeen: now,
		}},
		Advisories: []audit.Advisory{{Rule: "probe", Subject: subject, Owners: []string{}, Message: "look"}},
		Isolation:  []rules.Isolation{{Namespace: "shop"}},
		Ownership:  []audit.NamespaceOwner{{Namespace: "shop", Owner: "namespace shop", By: audit.ByNone}},
		Exceptions: []audit.ExceptionUse{},
		Phases:     []audit.Phase{{Name: "read", Took: time.Second}, {Name: "evaluate", Took: time.Second}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestSweepAsksForWhatItsRulesNeed(t *testing.T) {
	src := &source{}
	rule := &rules.Rule{
		Name: "probe", Needs: []snapshot.Kind{snapshot.IngressClasses, snapshot.Ingresses}, Uses: []snapshot.Kind{snapshot.Pods},
		Run: func(rules.Input) (rules.Result, error) { return rules.Result{}, nil },
	}
	if _, err := audit.Sweep(t.Context(), src, []*rules.Rule{rule}, parse(t, ""), ticking(), nil); err != nil {
		t.Fatal(err)
	}
	want := []snapshot.Kind{snapshot.IngressClasses, snapshot.Ingresses, snapshot.Namespaces, snapshot.Pods}
	if diff := cmp.Diff(want, src.asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}

// Facts that came before the sweep was ended are a part that looks like the
// whole.
func TestSweepThatWasEndedHasNoResult(t *testing.T) {
	ended := errors.New("ended by interrupt")
	src := &source{
		facts: snapshot.Facts{Namespaces: []snapshot.Namespace{{Meta: snapshot.Meta{Kind: "Namespace", Name: "shop"}}}},
		reads: []snapshot.Read{{Kind: snapshot.Namespaces, Status: snapshot.Listed, Items: 1}},
		err:   ended,
	}
	judged := false
	probe := rule("probe", func(rules.Input) (rules.Result, error) {
		judged = true
		return rules.Result{}, nil
	})
	got, err := audit.Sweep(t.Context(), src, []*rules.Rule{probe}, parse(t, ""), ticking(), nil)
	if got != nil || !errors.Is(err, ended) {
		t.Errorf("got %+v and %v, want nothing but the error of the source", got, err)
	}
	if judged {
		t.Error("a rule judged what was not read to its end")
	}
}

func TestNeedsAreSortedOnceAndHoldNamespaces(t *testing.T) {
	a, b := rule("a", nil), rule("b", nil)
	a.Needs = []snapshot.Kind{snapshot.Pods, snapshot.NetworkPolicies}
	b.Needs = []snapshot.Kind{snapshot.Pods, snapshot.Deployments}
	want := []snapshot.Kind{snapshot.Deployments, snapshot.Namespaces, snapshot.NetworkPolicies, snapshot.Pods}
	if diff := cmp.Diff(want, audit.Needs([]*rules.Rule{a, b})); diff != "" {
		t.Errorf("needs (-want +got):\n%s", diff)
	}
}
