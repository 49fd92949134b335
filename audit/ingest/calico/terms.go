package calico

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxTerms bounds the number of alternatives of a selector. They multiply where "&&" joins
// alternatives.
const maxTerms = 64

// termSet is a selector in disjunctive normal form: it selects what any of its terms
// selects. Without terms it selects nothing.
type termSet struct {
	list []snapshot.Selector
}

// everything returns the terms that select everything.
func everything() termSet { return termSet{list: []snapshot.Selector{{}}} }

// endpointKind is a kind of what a selector in a rule selects.
type endpointKind uint8

const (
	podEndpoints endpointKind = iota
	setEndpoints              // NetworkSets and GlobalNetworkSets
)

// terms returns the terms of a selector, or of its negation. Those of pods are over the
// keys that condition returns, those of sets over the labels of snapshot.SetLabels.
func (e *expr) terms(of endpointKind, negated bool) (termSet, error) {
	switch e.op {
	case opAll, opGlobal:
		return e.placeTerms(of, negated), nil
	case opLabel:
		return labelTerms(e.condition(of, negated)), nil
	case opNot:
		return e.of[0].terms(of, !negated)
	}
	// By De Morgan the negation of a conjunction is a disjunction of negations.
	conjunction := (e.op == opAnd) != negated
	sum := constantTerms(conjunction)
	for _, operand := range e.of {
		next, err := operand.terms(of, negated)
		if err != nil {
			return termSet{}, err
		}
		if conjunction {
			sum = sum.and(&next)
		} else {
			sum = sum.or(&next)
		}
		if len(sum.list) > maxTerms {
			return termSet{}, errTooComplex
		}
	}
	return sum, nil
}

// placeTerms returns the terms of all() or global(), or of their negation. Every pod is in
// a namespace, and some sets are in none. In a namespaceSelector all() selects only what is
// in a namespace (updateprocessors/rules.go, getEndpointSelector).
func (e *expr) placeTerms(of endpointKind, negated bool) termSet {
	switch {
	case e.op == opAll && (of == podEndpoints || e.scope != namespaceLabels):
		return constantTerms(!negated)
	case of == podEndpoints:
		return constantTerms(negated)
	}
	inNamespace := snapshot.Requirement{Key: snapshot.CalicoNamespaceLabel, Op: snapshot.Exists}
	if (e.op == opGlobal) != negated {
		inNamespace = inNamespace.Not()
	}
	return termSet{list: []snapshot.Selector{{inNamespace}}}
}

func constantTerms(always bool) termSet {
	if always {
		return everything()
	}
	return termSet{}
}

func labelTerms(r snapshot.Requirement, truth certainty) termSet {
	switch truth {
	case always, never:
		return constantTerms(truth == always)
	}
	return termSet{list: []snapshot.Selector{{r}}}
}

func (t *termSet) or(o *termSet) termSet {
	var sum termSet
	for _, s := range slices.Concat(t.list, o.list) {
		sum.add(s)
	}
	return sum
}

// and returns the conjunction of both. It stops at too many terms.
func (t *termSet) and(o *termSet) termSet {
	var product termSet
	for _, a := range t.list {
		for _, b := range o.list {
			if s, ok := conjoin(a, b); ok {
				product.add(s)
			}
			if len(product.list) > maxTerms {
				return product
			}
		}
	}
	return product
}

// add adds a term, unless another one selects at least as much. It removes those that
// select no more than the new one.
func (t *termSet) add(s snapshot.Selector) {
	if slices.ContainsFunc(t.list, func(o snapshot.Selector) bool { return subsetOf(o, s) }) {
		return
	}
	t.list = slices.DeleteFunc(t.list, func(o snapshot.Selector) bool { return subsetOf(s, o) })
	t.list = append(t.list, s)
}

// subsetOf reports whether each requirement of s is in o.
func subsetOf(s, o snapshot.Selector) bool {
	for _, r := range s {
		if !slices.ContainsFunc(o, func(q snapshot.Requirement) bool { return compareRequirements(r, q) == 0 }) {
			return false
		}
	}
	return true
}

// conjoin returns the conjunction of two selectors, and whether anything can match it.
func conjoin(a, b snapshot.Selector) (snapshot.Selector, bool) {
	both := slices.Concat(a, b)
	slices.SortFunc(both, compareRequirements)
	both = slices.CompactFunc(both, func(r, q snapshot.Requirement) bool { return compareRequirements(r, q) == 0 })
	for i, r := range both {
		for _, q := range both[i+1:] {
			if r.Key != q.Key {
				break
			}
			if excludes(r, q) || excludes(q, r) {
				return nil, false
			}
		}
	}
	return both, true
}

// excludes reports whether no value can meet both requirements on one label, as far as the
// first one decides that.
func excludes(r, q snapshot.Requirement) bool {
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

// pods returns the pods of the terms in a namespace, or in all namespaces if it is empty.
func (t *termSet) pods(namespace string) []snapshot.PodPeer {
	var out []snapshot.PodPeer
	for _, s := range t.list {
		var p snapshot.PodPeer
		for _, r := range s {
			if key, ok := strings.CutPrefix(r.Key, namespaceKey); ok {
				r.Key = key
				p.Namespaces = append(p.Namespaces, r)
			} else {
				p.Pods = append(p.Pods, r)
			}
		}
		if namespace != "" {
			// Selected by name, because together with others it may cover all namespaces.
			own := snapshot.Requirement{Key: labelMetadataName, Op: snapshot.In, Values: []string{namespace}}
			p.Namespaces = append(p.Namespaces, own)
			slices.SortFunc(p.Namespaces, compareRequirements)
		}
		out = append(out, p)
	}
	return out
}

// subject returns the pods of the terms as the subject of a policy. A policy with a
// namespace has its own namespace as subject, unless it has conditions on namespaces.
func (t *termSet) subject(namespace string) snapshot.Subject {
	out := snapshot.Subject(t.pods(namespace))
	for i, p := range out {
		if namespace != "" && len(p.Namespaces) == 1 {
			out[i] = snapshot.PodPeer{OwnNamespace: true, Pods: p.Pods}
		}
	}
	return out
}

// The labels that Calico adds to endpoints and their Namespaces, and the prefixes of the
// labels that an endpoint inherits from its Namespace and its ServiceAccount
// (libcalico-go/lib/backend/k8s/conversion).
const (
	labelNamespace        = snapshot.CalicoNamespaceLabel
	labelOrchestrator     = "projectcalico.org/orchestrator"
	labelServiceAccount   = "projectcalico.org/serviceaccount"
	labelName             = "projectcalico.org/name"
	prefixNamespaceLabels = snapshot.CalicoNamespacePrefix
	prefixAccountLabels   = "pcsa."

	// orchestrator is the value of the label for every pod.
	orchestrator = "k8s"
	// labelMetadataName is the label that Kubernetes adds to each Namespace.
	labelMetadataName = "kubernetes.io/metadata.name"
)

// namespaceKey precedes the keys of a Namespace's labels where they are mixed with those
// of a pod, whose keys never contain a blank.
const namespaceKey = "namespace "

// certainty says whether a condition can be decided without any labels.
type certainty uint8

const (
	dependsOnLabels certainty = iota // on the labels
	always
	never
)

// condition returns a condition on a label, or its negation, as a requirement. For a pod
// the key is that of its label, namespaceKey and that of its Namespace's label, or one of
// those for its ServiceAccount. For a set it is that of a label as the set has it.
func (e *expr) condition(of endpointKind, negated bool) (snapshot.Requirement, certainty) {
	r, truth := simplified(e.label), dependsOnLabels
	switch {
	case r.Op == snapshot.In && len(r.Values) == 0:
		truth = never
	case r.Op == snapshot.NotIn && len(r.Values) == 0:
		truth = always
	case of == setEndpoints:
		r.Key = e.scope.inherited(r.Key)
	default:
		r, truth = e.scope.resolve(r)
	}
	if !negated {
		return r, truth
	}
	switch truth {
	case always:
		return r, never
	case never:
		return r, always
	}
	return r.Not(), truth
}

// simplified returns a condition that every value meets as one that only requires the
// label: every value contains the empty string.
func simplified(r snapshot.Requirement) snapshot.Requirement {
	switch r.Op {
	case snapshot.Contains, snapshot.HasPrefix, snapshot.HasSuffix:
		if r.Values[0] == "" {
			return snapshot.Requirement{Key: r.Key, Op: snapshot.Exists}
		}
	}
	return r
}

// inherited returns the key that a label of scope has at what inherits it.
func (s labelScope) inherited(key string) string {
	switch {
	case s == namespaceLabels:
		return prefixNamespaceLabels + key
	case s == accountLabels && key == labelName:
		return labelServiceAccount
	case s == accountLabels:
		return prefixAccountLabels + key
	}
	return key
}

// resolve determines whose label a condition on a pod is about.
func (s labelScope) resolve(r snapshot.Requirement) (snapshot.Requirement, certainty) {
	switch s {
	case namespaceLabels:
		return namespaceCondition(r)
	case accountLabels:
		return accountCondition(r)
	}
	if key, ok := strings.CutPrefix(r.Key, prefixNamespaceLabels); ok {
		r.Key = key
		return namespaceCondition(r)
	}
	if key, ok := strings.CutPrefix(r.Key, prefixAccountLabels); ok {
		r.Key = key
		return accountCondition(r)
	}
	switch r.Key {
	case labelNamespace:
		r.Key = labelName
		return namespaceCondition(r)
	case labelServiceAccount:
		r.Key = labelName
		return accountCondition(r)
	case labelOrchestrator:
		if r.Holds(orchestrator, true) {
			return r, always
		}
		return r, never
	}
	return r, dependsOnLabels
}

func namespaceCondition(r snapshot.Requirement) (snapshot.Requirement, certainty) {
	if r.Key == labelName {
		r.Key = labelMetadataName
	}
	truth := dependsOnLabels
	// Every Namespace has it.
	if r.Key == labelMetadataName && r.Op == snapshot.Exists {
		truth = always
	}
	r.Key = namespaceKey + r.Key
	return r, truth
}

// accountCondition returns a condition on the ServiceAccount of a pod, which always exists
// and has a name. Pods are selected by that name.
//
// The labels of ServiceAccounts are in no fact. Reading them would take the right to list
// one more kind with an object or more in each namespace, for selectors that are rare. They
// are not needed to see that a policy misses pods that could exist, and where they decide
// over those that do exist, policies are evaluated both ways.
func accountCondition(r snapshot.Requirement) (snapshot.Requirement, certainty) {
	if r.Key != labelName {
		r.Key = snapshot.ServiceAccountLabelPrefix + r.Key
		return r, dependsOnLabels
	}
	r.Key = snapshot.ServiceAccountKey
	if r.Op == snapshot.Exists {
		return r, always
	}
	return r, dependsOnLabels
}
