package calico

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// holds evaluates an expression for a pod and its Namespace as Calico would, by
// its tree and without any normal form.
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
