package ingest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxCalicoTerms bounds the alternatives that a selector may come to. They
// multiply where alternatives are joined by "&&".
const maxCalicoTerms = 64

// calicoTerms are the alternatives of a selector: it selects whatever one of them
// does. None selects nothing.
type calicoTerms struct {
	list []snapshot.Selector
	// partial is true where alternatives are left out because they depend on
	// what no fact holds.
	partial bool
}

// calicoEverything is the selector that selects every pod.
func calicoEverything() calicoTerms { return calicoTerms{list: []snapshot.Selector{{}}} }

// everything reports whether the terms select every pod.
func (t *calicoTerms) everything() bool { return len(t.list) == 1 && len(t.list[0]) == 0 }

// nothing reports whether the terms are known to select no pod.
func (t *calicoTerms) nothing() bool { return len(t.list) == 0 && !t.partial }

// terms returns the alternatives of a selector of pods, or of its negation.
func (e *calicoExpr) terms(negated bool) (calicoTerms, error) {
	switch e.op {
	case calicoAll:
		return calicoConstant(!negated), nil
	case calicoGlobal:
		// Every pod is in a namespace.
		return calicoConstant(negated), nil
	case calicoLabel:
		return calicoLabelTerms(e.condition(negated)), nil
	case calicoNot:
		return e.of[0].terms(!negated)
	}
	// By De Morgan the negation of a conjunction is a disjunction of negations.
	conjunction := (e.op == calicoAnd) != negated
	sum := calicoConstant(conjunction)
	for _, operand := range e.of {
		next, err := operand.terms(negated)
		if err != nil {
			return calicoTerms{}, err
		}
		if conjunction {
			sum = sum.and(&next)
		} else {
			sum = sum.or(&next)
		}
		if len(sum.list) > maxCalicoTerms {
			return calicoTerms{}, errCalicoComplex
		}
	}
	return sum, nil
}

func calicoConstant(always bool) calicoTerms {
	if always {
		return calicoEverything()
	}
	return calicoTerms{}
}

func calicoLabelTerms(r snapshot.Requirement, truth calicoTruth) calicoTerms {
	switch truth {
	case calicoAlways, calicoNever:
		return calicoConstant(truth == calicoAlways)
	case calicoUnknown:
		return calicoTerms{partial: true}
	}
	return calicoTerms{list: []snapshot.Selector{{r}}}
}

func (t *calicoTerms) or(o *calicoTerms) calicoTerms {
	sum := calicoTerms{partial: t.partial || o.partial}
	for _, s := range slices.Concat(t.list, o.list) {
		sum.add(s)
	}
	sum.partial = sum.partial && !sum.everything()
	return sum
}

// and returns the alternatives of both. It stops where there are too many.
func (t *calicoTerms) and(o *calicoTerms) calicoTerms {
	if t.nothing() || o.nothing() {
		return calicoTerms{}
	}
	product := calicoTerms{partial: t.partial || o.partial}
	for _, a := range t.list {
		for _, b := range o.list {
			if s, ok := calicoConjoin(a, b); ok {
				product.add(s)
			}
			if len(product.list) > maxCalicoTerms {
				return product
			}
		}
	}
	return product
}

// add adds an alternative, unless one that selects as much is there. Those that
// select no more than it go.
func (t *calicoTerms) add(s snapshot.Selector) {
	if slices.ContainsFunc(t.list, func(o snapshot.Selector) bool { return calicoWithin(o, s) }) {
		return
	}
	t.list = slices.DeleteFunc(t.list, func(o snapshot.Selector) bool { return calicoWithin(s, o) })
	t.list = append(t.list, s)
}

// calicoWithin reports whether each requirement of one selector stands in the other.
func calicoWithin(s, o snapshot.Selector) bool {
	for _, r := range s {
		if !slices.ContainsFunc(o, func(q snapshot.Requirement) bool { return compareRequirements(r, q) == 0 }) {
			return false
		}
	}
	return true
}

// calicoConjoin returns what asks for both, and whether anything can meet it.
func calicoConjoin(a, b snapshot.Selector) (snapshot.Selector, bool) {
	both := slices.Concat(a, b)
	slices.SortFunc(both, compareRequirements)
	both = slices.CompactFunc(both, func(r, q snapshot.Requirement) bool { return compareRequirements(r, q) == 0 })
	for i, r := range both {
		for _, q := range both[i+1:] {
			if r.Key != q.Key {
				break
			}
			if calicoExcludes(r, q) || calicoExcludes(q, r) {
				return nil, false
			}
		}
	}
	return both, true
}

// calicoExcludes reports whether no value can meet both requirements on one label, as
// far as the first one tells.
func calicoExcludes(r, q snapshot.Requirement) bool {
	switch {
	case r.Op == snapshot.In:
		return !slices.ContainsFunc(r.Values, func(v string) bool { return q.Holds(v, true) })
	case r.Op == snapshot.DoesNotExist:
		return q.Positive()
	}
	return compareRequirements(r.Not(), q) == 0
}

func compareRequirements(a, b snapshot.Requirement) int {
	return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(string(a.Op), string(b.Op)), slices.Compare(a.Values, b.Values))
}

// pods returns the pods of the terms: those of one namespace, or of all if it is
// empty.
func (t *calicoTerms) pods(namespace string) []snapshot.PodPeer {
	var out []snapshot.PodPeer
	for _, s := range t.list {
		var p snapshot.PodPeer
		for _, r := range s {
			if key, ok := strings.CutPrefix(r.Key, calicoNamespaceMark); ok {
				r.Key = key
				p.Namespaces = append(p.Namespaces, r)
			} else {
				p.Pods = append(p.Pods, r)
			}
		}
		if namespace != "" {
			// By its name it may make up all namespaces together with others.
			own := snapshot.Requirement{Key: calicoNamespaceName, Op: snapshot.In, Values: []string{namespace}}
			p.Namespaces = append(p.Namespaces, own)
			slices.SortFunc(p.Namespaces, compareRequirements)
		}
		out = append(out, p)
	}
	return out
}

// subject returns the pods of the terms as those that a policy selects: a policy in
// a namespace is found by that, unless it asks anything of the namespace.
func (t *calicoTerms) subject(namespace string) snapshot.Subject {
	out := snapshot.Subject(t.pods(namespace))
	for i, p := range out {
		if namespace != "" && len(p.Namespaces) == 1 {
			out[i] = snapshot.PodPeer{OwnNamespace: true, Pods: p.Pods}
		}
	}
	return out
}
