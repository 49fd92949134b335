package calico

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
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
	return out
}

func termsOf(t *testing.T, text string, scope labelScope) termSet {
	t.Helper()
	e, err := parseSelector(text, scope)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := e.terms(podEndpoints, false)
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
	every, none := []string{""}, []string{}
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
		{"a service account", "projectcalico.org/serviceaccount == 'a'", endpointLabels, []string{"service account In a"}},
		{"any service account but one", "projectcalico.org/serviceaccount != 'a'", endpointLabels, []string{"service account NotIn a"}},
		{"not one service account", "!(projectcalico.org/serviceaccount == 'a')", endpointLabels, []string{"service account NotIn a"}},
		{"no pod is without a service account", "!has(projectcalico.org/serviceaccount)", endpointLabels, none},
		{"a service account by the name it inherits", "pcsa.projectcalico.org/name in {'a', 'b'}", endpointLabels, []string{"service account In a,b"}},
		{"every pod has a service account", "has(projectcalico.org/serviceaccount)", endpointLabels, every},
		{"a label of a service account", "pcsa.role == 'a'", endpointLabels, []string{"service account label role In a"}},
		{"a label of a service account or of the pod", "pcsa.role == 'a' || has(b)", endpointLabels, []string{"service account label role In a", "b Exists"}},
		{"a service account in its own words", "role == 'a'", accountLabels, []string{"service account label role In a"}},
		{"a service account by name in its own words", "projectcalico.org/name == 'a'", accountLabels, []string{"service account In a"}},
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
	if _, err := e.terms(podEndpoints, false); !errors.Is(err, errTooComplex) {
		t.Errorf("seven choices: got %v", err)
	}
	if terms, err := e.terms(podEndpoints, true); err != nil || len(terms.list) != 7 {
		t.Errorf("the negation of seven choices: %d alternatives, %v", len(terms.list), err)
	}
}

// holds evaluates an expression for an endpoint as Calico would, on its tree and without a
// normal form, by all the labels that the endpoint has or inherits.
func (e *expr) holds(endpoint map[string]string) bool {
	_, inNamespace := endpoint["projectcalico.org/namespace"]
	switch e.op {
	case opAll:
		return inNamespace || e.scope != namespaceLabels
	case opGlobal:
		return !inNamespace
	case opNot:
		return !e.of[0].holds(endpoint)
	case opAnd:
		for _, o := range e.of {
			if !o.holds(endpoint) {
				return false
			}
		}
		return true
	case opOr:
		for _, o := range e.of {
			if o.holds(endpoint) {
				return true
			}
		}
		return false
	}
	key := map[labelScope]string{namespaceLabels: "pcns.", accountLabels: "pcsa."}[e.scope] + e.label.Key
	value, ok := endpoint[key]
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
		return pick("a", "b", "pcns.a", "pcns.projectcalico.org/name", "projectcalico.org/namespace", "pcsa.b",
			"projectcalico.org/serviceaccount", "projectcalico.org/orchestrator", "projectcalico.org/name")
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
		return pick("all()", "!all()", "global()", "!global()")
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

// testPod is a pod with what it inherits labels from.
type testPod struct{ labels, namespace, account map[string]string }

// endpoint returns the labels of the pod as an endpoint.
func (p testPod) endpoint() map[string]string {
	all := map[string]string{
		"projectcalico.org/namespace":      p.namespace["kubernetes.io/metadata.name"],
		"projectcalico.org/serviceaccount": p.account["projectcalico.org/name"],
		"projectcalico.org/orchestrator":   "k8s",
		"pcns.projectcalico.org/name":      p.namespace["kubernetes.io/metadata.name"],
	}
	inherit(all, "pcns.", p.namespace)
	inherit(all, "pcsa.", p.account)
	inherit(all, "", p.labels)
	return all
}

func inherit(to map[string]string, prefix string, labels map[string]string) {
	for key, value := range labels {
		to[prefix+key] = value
	}
}

// selectedBy reports whether the pods of the terms hold the pod.
func (p testPod) selectedBy(terms termSet) bool {
	labels := maps.Clone(p.labels)
	for key, value := range p.account {
		if key == "projectcalico.org/name" {
			labels[snapshot.ServiceAccountKey] = value
		} else {
			labels[snapshot.ServiceAccountLabelPrefix+key] = value
		}
	}
	return slices.ContainsFunc(terms.pods(""), func(by snapshot.PodPeer) bool {
		return by.Namespaces.Matches(snapshot.NewLabels(p.namespace)) && by.Pods.Matches(snapshot.NewLabels(labels))
	})
}

func TestTermsMatchAsTheSelectorDoes(t *testing.T) {
	for seed := range uint64(4_000) {
		r := rand.New(rand.NewPCG(seed, 0))
		text, scope := randomSelector(r, 3), endpointLabels
		switch r.IntN(6) {
		case 0:
			scope = namespaceLabels
		case 1:
			scope = accountLabels
		}
		e, err := parseSelector(text, scope)
		if err != nil {
			t.Fatalf("seed %d: parse %s: %v", seed, text, err)
		}
		for _, negated := range []bool{false, true} {
			terms, err := e.terms(podEndpoints, negated)
			if errors.Is(err, errTooComplex) {
				continue
			}
			ofSets, err := e.terms(setEndpoints, negated)
			if errors.Is(err, errTooComplex) {
				continue
			}
			named := func(key string) map[string]string {
				return randomLabels(r, map[string]string{key: []string{"x", "xy", "k8s"}[r.IntN(3)]}, "a", "b")
			}
			for range 20 {
				own := randomLabels(r, map[string]string{}, "a", "b", "projectcalico.org/name")
				pod := testPod{own, named("kubernetes.io/metadata.name"), named("projectcalico.org/name")}
				if got, want := pod.selectedBy(terms), e.holds(pod.endpoint()) != negated; got != want {
					t.Fatalf("seed %d: %s (scope %d, negated %t) of pod %v: got %t, want %t\nterms: %q",
						seed, text, scope, negated, pod, got, want, writeTerms(terms))
				}
				// A set has the labels of its namespace, if it is in one, and any of its own.
				set := randomLabels(r, map[string]string{}, "a", "b", "pcns.a", "pcsa.b", "projectcalico.org/name")
				fact := snapshot.AddressSet{Labels: snapshot.NewLabels(set)}
				all := maps.Clone(set)
				if r.IntN(2) == 0 {
					fact.Namespace = pod.namespace["kubernetes.io/metadata.name"]
					all = map[string]string{"pcns.projectcalico.org/name": fact.Namespace}
					inherit(all, "pcns.", pod.namespace)
					inherit(all, "", set)
					all["projectcalico.org/namespace"] = fact.Namespace
				}
				labels := snapshot.SetLabels(&fact, snapshot.NewLabels(pod.namespace))
				got := slices.ContainsFunc(ofSets.list, func(s snapshot.Selector) bool { return s.Matches(labels) })
				if want := e.holds(all) != negated; got != want {
					t.Fatalf("seed %d: %s (scope %d, negated %t) of set %v: got %t, want %t\nterms: %q",
						seed, text, scope, negated, all, got, want, writeTerms(ofSets))
				}
			}
		}
	}
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
				if terms, err := e.terms(setEndpoints, negated); err == nil && len(terms.list) > maxTerms {
					t.Errorf("%q has %d terms", text, len(terms.list))
				}
			}
		}
	})
}
