package calico

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// writeTerms returns the alternatives of a selector, one a line.
func writeTerms(t termSet) []string {
	out := []string{}
	for _, s := range t.list {
		var all []string
		for _, r := range s {
			all = append(all, writeRequirement(r))
		}
		out = append(out, strings.Join(all, " & "))
	}
	if t.partial {
		out = append(out, "and what is not known")
	}
	return out
}

func termsOf(t *testing.T, text string, scope labelScope) termSet {
	t.Helper()
	e, err := parseSelector(text, scope)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := e.terms(false)
	if err != nil {
		t.Fatal(err)
	}
	return terms
}

func TestTerms(t *testing.T) {
	every, none := []string{""}, []string{}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"all", "all()", every},
		{"not all", "!all()", none},
		{"no pod is in no namespace", "global()", none},
		{"every pod is in a namespace", "!global()", every},
		{"a conjunction", "has(b) && a == 'x'", []string{"a In x & b Exists"}},
		{"a disjunction", "a == 'x' || has(b)", []string{"a In x", "b Exists"}},
		{"alternatives multiply", "(has(a) || has(b)) && (has(c) || has(d))", []string{
			"a Exists & c Exists", "a Exists & d Exists", "b Exists & c Exists", "b Exists & d Exists",
		}},
		{"a negated conjunction", "!(a == 'x' && has(b))", []string{"a NotIn x", "b DoesNotExist"}},
		{"a negated disjunction", "!(a != 'x' || b contains 'y')", []string{"a In x & b DoesNotContain y"}},
		{"negations of parts of a value", "!(a starts with 'x') && !(b ends with 'y')", []string{"a LacksPrefix x & b LacksSuffix y"}},
		{"a contradiction", "has(a) && !has(a)", none},
		{"a contradiction of values", "a == 'x' && a == 'y'", none},
		{"a contradiction of value and part", "a == 'x' && a contains 'y'", none},
		{"a contradiction of value and absence", "a == 'x' && !has(a)", none},
		{"a value that is part of no contradiction", "a == 'xy' && a contains 'y'", []string{"a Contains y & a In xy"}},
		{"the same twice", "has(a) && has(a) || has(a)", []string{"a Exists"}},
		{"an alternative within another", "has(a) || has(a) && has(b)", []string{"a Exists"}},
		{"all beside anything", "has(a) || all()", every},
		{"an empty set", "a in {}", none},
		{"all but an empty set", "a not in {}", every},
		{"every value contains nothing", "a contains ''", []string{"a Exists"}},
		{"not to start with nothing", "!(a starts with '')", []string{"a DoesNotExist"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, writeTerms(termsOf(t, c.text, endpointLabels))); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLabels(t *testing.T) {
	every, none, unknown := []string{""}, []string{}, []string{"and what is not known"}
	for _, c := range []struct {
		name, text string
		scope      labelScope
		want       []string
	}{
		{"a namespace by name", "projectcalico.org/name == 'a'", namespaceLabels, []string{"namespace kubernetes.io/metadata.name In a"}},
		{"every namespace has a name", "has(projectcalico.org/name)", namespaceLabels, every},
		{"no namespace is without a name", "!has(projectcalico.org/name)", namespaceLabels, none},
		{
			"all namespaces but some", "has(projectcalico.org/name) && projectcalico.org/name not in {'kube-system', 'b'}", namespaceLabels,
			[]string{"namespace kubernetes.io/metadata.name NotIn b,kube-system"},
		},
		{"Kubernetes' own label of the name", "has(kubernetes.io/metadata.name)", namespaceLabels, every},
		{"any label of a namespace", "tier != 'gold'", namespaceLabels, []string{"namespace tier NotIn gold"}},
		{"the label of pods means nothing for a namespace", "has(projectcalico.org/namespace)", namespaceLabels, []string{"namespace projectcalico.org/namespace Exists"}},
		{"the namespace of a pod", "projectcalico.org/namespace in {'a', 'b'}", endpointLabels, []string{"namespace kubernetes.io/metadata.name In a,b"}},
		{"the namespace of a pod by how it starts", "projectcalico.org/namespace starts with 'kube-'", endpointLabels, []string{"namespace kubernetes.io/metadata.name HasPrefix kube-"}},
		{"every pod is in a namespace", "has(projectcalico.org/namespace)", endpointLabels, every},
		{"what is in no namespace means no pod", "!has(projectcalico.org/namespace)", endpointLabels, none},
		{"a label that a pod inherits", "pcns.tier == 'gold' && app == 'web'", endpointLabels, []string{"app In web & namespace tier In gold"}},
		{"the name that a pod inherits", "pcns.projectcalico.org/name != 'a'", endpointLabels, []string{"namespace kubernetes.io/metadata.name NotIn a"}},
		{"the label of namespaces means nothing for a pod", "projectcalico.org/name == 'a'", endpointLabels, []string{"projectcalico.org/name In a"}},
		{"every pod is of Kubernetes", "projectcalico.org/orchestrator == 'k8s'", endpointLabels, every},
		{"no pod is of another", "projectcalico.org/orchestrator in {'openstack', 'cni'}", endpointLabels, none},
		{"every pod is of an orchestrator", "has(projectcalico.org/orchestrator)", endpointLabels, every},
		{"a service account", "projectcalico.org/serviceaccount == 'a'", endpointLabels, unknown},
		{"any service account but one", "projectcalico.org/serviceaccount != 'a'", endpointLabels, unknown},
		{"not one service account", "!(projectcalico.org/serviceaccount == 'a')", endpointLabels, unknown},
		{"every pod has a service account", "has(projectcalico.org/serviceaccount)", endpointLabels, every},
		{"a label of a service account", "pcsa.role == 'a'", endpointLabels, unknown},
		{"a label of a service account or of the pod", "pcsa.role == 'a' || has(b)", endpointLabels, []string{"b Exists", "and what is not known"}},
		{"what is not known beside all", "pcsa.role == 'a' || all()", endpointLabels, every},
		{"what is not known and nothing", "pcsa.role == 'a' && !all()", endpointLabels, none},
		{"a service account in its own words", "role == 'a'", accountLabels, unknown},
		{"every service account", "all()", accountLabels, every},
		{"every service account has a name", "has(projectcalico.org/name)", accountLabels, every},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, writeTerms(termsOf(t, c.text, c.scope))); diff != "" {
				t.Errorf("terms (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTermsTooMany(t *testing.T) {
	choice := func(n int) string {
		var all []string
		for i := range n {
			key := string(rune('a' + i))
			all = append(all, "(has("+key+"1) || has("+key+"2))")
		}
		return strings.Join(all, " && ")
	}
	if n := len(termsOf(t, choice(6), endpointLabels).list); n != 64 {
		t.Errorf("six choices of two come to %d alternatives", n)
	}
	e, err := parseSelector(choice(7), endpointLabels)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.terms(false); !errors.Is(err, errTooComplex) {
		t.Errorf("seven choices: got %v", err)
	}
	if terms, err := e.terms(true); err != nil || len(terms.list) != 7 {
		t.Errorf("the negation of seven choices: %d alternatives, %v", len(terms.list), err)
	}
}

// holds evaluates an expression for a pod and its Namespace as Calico would, on its tree
// and without a normal form.
func (e *expr) holds(pod, namespace map[string]string) bool {
	switch e.op {
	case opAll:
		return true
	case opGlobal:
		return false
	case opNot:
		return !e.of[0].holds(pod, namespace)
	case opAnd:
		for _, o := range e.of {
			if !o.holds(pod, namespace) {
				return false
			}
		}
		return true
	case opOr:
		for _, o := range e.of {
			if o.holds(pod, namespace) {
				return true
			}
		}
		return false
	}
	inherited := map[string]string{
		"projectcalico.org/namespace":    namespace["kubernetes.io/metadata.name"],
		"projectcalico.org/orchestrator": "k8s",
		"pcns.projectcalico.org/name":    namespace["kubernetes.io/metadata.name"],
	}
	for key, value := range namespace {
		inherited["pcns."+key] = value
	}
	for key, value := range pod {
		inherited[key] = value
	}
	key := e.label.Key
	if e.scope == namespaceLabels {
		key = "pcns." + key
	}
	value, ok := inherited[key]
	part := strings.Join(e.label.Values, "")
	switch e.label.Op {
	case snapshot.Exists:
		return ok
	case snapshot.Contains:
		return ok && strings.Contains(value, part)
	case snapshot.HasPrefix:
		return ok && strings.HasPrefix(value, part)
	case snapshot.HasSuffix:
		return ok && strings.HasSuffix(value, part)
	}
	found := false
	for _, v := range e.label.Values {
		found = found || v == value
	}
	return ok && found == (e.label.Op == snapshot.In) || !ok && e.label.Op == snapshot.NotIn
}

// randomSelector writes a selector of labels that are few enough to come together
// often.
func randomSelector(r *rand.Rand, depth int) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	key := func() string {
		return pick("a", "b", "pcns.a", "pcns.projectcalico.org/name", "projectcalico.org/namespace",
			"projectcalico.org/orchestrator", "projectcalico.org/name")
	}
	value := func() string { return pick("''", "'x'", "'xy'", `"yx"`, "'k8s'") }
	if depth > 0 && r.IntN(3) > 0 {
		return fmt.Sprintf(pick("(%s) && (%s)", "(%s) || (%s)", "!(%s) || %s", "%s && !(%s)"),
			randomSelector(r, depth-1), randomSelector(r, depth-1))
	}
	switch r.IntN(8) {
	case 0:
		return "has(" + key() + ")"
	case 1:
		return "!has(" + key() + ")"
	case 2:
		return pick("all()", "!all()", "!global()")
	case 3, 4:
		return key() + pick(" in {", " not in {") + pick("", value(), value()+", "+value()) + "}"
	}
	return key() + pick("==", "!=", " contains ", " starts with ", " ends with ") + value()
}

// randomLabels returns some labels, each one there or not.
func randomLabels(r *rand.Rand, labels map[string]string, keys ...string) map[string]string {
	for _, key := range keys {
		if r.IntN(3) > 0 {
			labels[key] = []string{"", "x", "y", "xy", "yx", "xyx"}[r.IntN(6)]
		}
	}
	return labels
}

func TestTermsMatchAsTheSelectorDoes(t *testing.T) {
	for seed := range uint64(4_000) {
		r := rand.New(rand.NewPCG(seed, 0))
		text, scope := randomSelector(r, 3), endpointLabels
		if r.IntN(4) == 0 {
			scope = namespaceLabels
		}
		e, err := parseSelector(text, scope)
		if err != nil {
			t.Fatalf("seed %d: parse %s: %v", seed, text, err)
		}
		for _, negated := range []bool{false, true} {
			terms, err := e.terms(negated)
			if errors.Is(err, errTooComplex) {
				continue
			}
			for range 20 {
				pod := randomLabels(r, map[string]string{}, "a", "b", "projectcalico.org/name")
				namespace := randomLabels(r, map[string]string{"kubernetes.io/metadata.name": []string{"x", "xy", "k8s"}[r.IntN(3)]}, "a", "b")
				if got, want := selected(terms, pod, namespace), e.holds(pod, namespace) != negated; got != want {
					t.Fatalf("seed %d: %s (scope %d, negated %t) of pod %v in namespace %v: got %t, want %t\nterms: %q",
						seed, text, scope, negated, pod, namespace, got, want, writeTerms(terms))
				}
			}
		}
	}
}

// selected reports whether the pods of the terms hold a pod.
func selected(terms termSet, pod, namespace map[string]string) bool {
	for _, p := range terms.pods("") {
		if p.Namespaces.Matches(snapshot.NewLabels(namespace)) && p.Pods.Matches(snapshot.NewLabels(pod)) {
			return true
		}
	}
	return false
}

func FuzzParseSelector(f *testing.F) {
	for _, text := range []string{
		"", "all()", "!global()", "has(a) && !has(b)", `a in {'x', "y"} || b not in {}`,
		"!(a starts with 'x' || b ends with 'y') && c contains ''", "((((a == 'x'))))", "a == 'x", "has(", "!", "a in {",
		"projectcalico.org/namespace == 'a' && pcsa.b == 'c'",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, scope := range []labelScope{endpointLabels, namespaceLabels, accountLabels} {
			e, err := parseSelector(text, scope)
			if err != nil {
				continue
			}
			for _, negated := range []bool{false, true} {
				if terms, err := e.terms(negated); err == nil && len(terms.list) > maxTerms {
					t.Errorf("%q has %d terms", text, len(terms.list))
				}
			}
		}
	})
}
