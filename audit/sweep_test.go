package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
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

func TestSweepReportsWhatWasReadAndEvaluated(t *testing.T) {
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
			ID: rules.ID("probe", subject), Rule: "probe", Severity: rules.High, Subject: subject, Culprit: "shop",
			Owners: []string{"namespace shop"}, State: audit.StateOpen, FirstSeen: now,
		}},
		Advisories: []audit.Advisory{{Rule: "probe", Subject: subject, Owners: []string{}, Message: "look"}},
		Isolation:  []rules.Isolation{{Namespace: "shop"}},
		Ownership:  []audit.NamespaceOwner{{Namespace: "shop", Owner: "namespace shop", By: audit.ByNone}},
		Exceptions: []audit.ExceptionUse{},
		Phases:     []audit.Phase{{Name: "read", Took: time.Second}, {Name: "evaluate", Took: time.Second}},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(audit.Result{})); diff != "" {
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
	ran := false
	probe := rule("probe", func(rules.Input) (rules.Result, error) {
		ran = true
		return rules.Result{}, nil
	})
	got, err := audit.Sweep(t.Context(), src, []*rules.Rule{probe}, parse(t, ""), ticking(), nil)
	if got != nil || !errors.Is(err, ended) {
		t.Errorf("got %+v and %v, want nothing but the error of the source", got, err)
	}
	if ran {
		t.Error("a rule ran although the read did not finish")
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

// wide is a result that concerns the namespaces apps, legacy and shop.
func wide() *audit.Result {
	at := func(namespace string) []rules.Object {
		return []rules.Object{
			{Ref: snapshot.Ref{Kind: "Ingress", Namespace: "apps", Name: "web"}},
			{Ref: snapshot.Ref{Kind: "Ingress", Namespace: namespace, Name: "web"}},
		}
	}
	return &audit.Result{
		Reads:    []snapshot.Read{{Kind: snapshot.Pods, Status: snapshot.Forbidden}},
		Ignored:  []audit.IgnoredKind{{Version: "v1", Kind: "ConfigMap", Items: 3}},
		Problems: []audit.Problem{{Where: "a.yaml document 1", Reason: "bad"}},
		Rules:    []audit.Outcome{{Rule: "owner-known", Status: audit.RuleSkipped}},
		Findings: []audit.Finding{
			{Subject: hostSubject("contested.example.com"), Objects: at("shop")},
			{Subject: hostSubject("shop"), Objects: at("legacy")},
			{Subject: namespaceSubject("shop", "Ingress")},
			{Subject: namespaceSubject("legacy", "Ingress")},
		},
		Advisories: []audit.Advisory{
			{Subject: rules.Subject{Kind: "Ingress", Namespace: "shop", Name: "web"}},
			{Subject: rules.Subject{Kind: "Ingress", Namespace: "legacy", Name: "shop"}},
			{Subject: hostSubject("covered.example.com"), Objects: at("shop")},
			{Rule: "config", Subject: rules.Subject{Kind: "Exception", Name: "owner-known"}},
		},
		Isolation: []rules.Isolation{{Namespace: "apps"}, {Namespace: "legacy"}, {Namespace: "shop"}},
	}
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		name       string
		namespaces []string
		want       []string
	}{
		{
			name:       "keeps what is on the namespace or on an object in it",
			namespaces: []string{"shop"},
			want: []string{
				"finding contested.example.com", "finding shop (Ingress)",
				"advisory shop/web", "advisory covered.example.com",
				"isolation shop",
			},
		}, {
			name:       "keeps what concerns any of several namespaces",
			namespaces: []string{"shop", "legacy"},
			want: []string{
				"finding contested.example.com", "finding shop", "finding shop (Ingress)", "finding legacy (Ingress)",
				"advisory shop/web", "advisory legacy/shop", "advisory covered.example.com",
				"isolation legacy", "isolation shop",
			},
		}, {
			name:       "takes a name as it is and not for a pattern",
			namespaces: []string{"sh*"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := wide()
			audit.Filter(r, c.namespaces)
			var got []string
			for _, f := range r.Findings {
				got = append(got, "finding "+f.Subject.String())
			}
			for _, a := range r.Advisories {
				got = append(got, "advisory "+a.Subject.String())
			}
			for _, i := range r.Isolation {
				got = append(got, "isolation "+i.Namespace)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilterByNothingKeepsEverything(t *testing.T) {
	r := wide()
	audit.Filter(r, nil)
	if diff := cmp.Diff(wide(), r, cmpopts.IgnoreUnexported(audit.Result{})); diff != "" {
		t.Error(diff)
	}
}

// What could not be read may be in any namespace, so it must not look better
// through a filter.
func TestFilterDoesNotMakeASweepComplete(t *testing.T) {
	r := wide()
	audit.Filter(r, []string{"shop"})
	w := wide()
	if diff := cmp.Diff([]any{w.Reads, w.Ignored, w.Problems, w.Rules}, []any{r.Reads, r.Ignored, r.Problems, r.Rules}); diff != "" {
		t.Error(diff)
	}
	if r.Complete() {
		t.Error("an incomplete sweep is complete for one namespace")
	}
}

func phaseNames(res *audit.Result) []string {
	var names []string
	for _, p := range res.Phases {
		names = append(names, p.Name)
	}
	return names
}

func TestPhasesOfASweepThatPublishes(t *testing.T) {
	res, _ := publish(t, newMemory(), &world{first: contested(), second: contested()})
	want := []string{"read", "evaluate", "wait", "confirm", "store"}
	if diff := cmp.Diff(want, phaseNames(res)); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	for _, p := range res.Phases {
		if p.Took != time.Second {
			t.Errorf("phase %s took %s by a clock that ticks once in each", p.Name, p.Took)
		}
	}
}

// unreachable is a store that cannot be reached.
type unreachable struct{ *memory }

func (unreachable) Load(context.Context) ([]audit.Stored, []string, error) {
	return nil, nil, errors.New("no route to host")
}

func TestPhasesOfASweepThatCannotPublishAreReported(t *testing.T) {
	store := unreachable{newMemory()}
	w := &world{first: contested(), second: contested()}
	res, _, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, ""), ticking(), publisher(store, w), free{})
	if err == nil {
		t.Fatal("findings that cannot be loaded are no error")
	}
	if diff := cmp.Diff([]string{"read", "evaluate", "wait"}, phaseNames(res)); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}
