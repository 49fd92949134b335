package calico

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxTerms bounds the alternatives that a selector may come to. They
// multiply where alternatives are joined by "&&".
const maxTerms = 64

// termSet are the alternatives of a selector: it selects whatever one of them
// does. None selects nothing.
type termSet struct {
	list []snapshot.Selector
	// partial is true where alternatives are left out because they depend on
	// what no fact holds.
	partial bool
}

// everyPod is the selector that selects every pod.
func everyPod() termSet { return termSet{list: []snapshot.Selector{{}}} }

// everything reports whether the terms select every pod.
func (t *termSet) everything() bool { return len(t.list) == 1 && len(t.list[0]) == 0 }

// nothing reports whether the terms are known to select no pod.
func (t *termSet) nothing() bool { return len(t.list) == 0 && !t.partial }

// terms returns the alternatives of a selector of pods, or of its negation.
func (e *expr) terms(negated bool) (termSet, error) {
	switch e.op {
	case opAll:
		return constantTerms(!negated), nil
	case opGlobal:
		// Every pod is in a namespace.
		return constantTerms(negated), nil
	case opLabel:
		return labelTerms(e.condition(negated)), nil
	case opNot:
		return e.of[0].terms(!negated)
	}
	// By De Morgan the negation of a conjunction is a disjunction of negations.
	conjunction := (e.op == opAnd) != negated
	sum := constantTerms(conjunction)
	for _, operand := range e.of {
		next, err := operand.terms(negated)
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

func constantTerms(always bool) termSet {
	if always {
		return everyPod()
	}
	return termSet{}
}

func labelTerms(r snapshot.Requirement, truth certainty) termSet {
	switch truth {
	case always, never:
		return constantTerms(truth == always)
	case unknown:
		return termSet{partial: true}
	}
	return termSet{list: []snapshot.Selector{{r}}}
}

func (t *termSet) or(o *termSet) termSet {
	sum := termSet{partial: t.partial || o.partial}
	for _, s := range slices.Concat(t.list, o.list) {
		sum.add(s)
	}
	sum.partial = sum.partial && !sum.everything()
	return sum
}

// and returns the alternatives of both. It stops where there are too many.
func (t *termSet) and(o *termSet) termSet {
	if t.nothing() || o.nothing() {
		return termSet{}
	}
	product := termSet{partial: t.partial || o.partial}
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

// add adds an alternative, unless one that selects as much is there. Those that
// select no more than it go.
func (t *termSet) add(s snapshot.Selector) {
	if slices.ContainsFunc(t.list, func(o snapshot.Selector) bool { return subsetOf(o, s) }) {
		return
	}
	t.list = slices.DeleteFunc(t.list, func(o snapshot.Selector) bool { return subsetOf(s, o) })
	t.list = append(t.list, s)
}

// subsetOf reports whether each requirement of one selector stands in the other.
func subsetOf(s, o snapshot.Selector) bool {
	for _, r := range s {
		if !slices.ContainsFunc(o, func(q snapshot.Requirement) bool { return compareRequirements(r, q) == 0 }) {
			return false
		}
	}
	return true
}

// conjoin returns what asks for both, and whether anything can meet it.
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

// excludes reports whether no value can meet both requirements on one label, as
// far as the first one tells.
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

// pods returns the pods of the terms: those of one namespace, or of all if it is
// empty.
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
			// By its name it may make up all namespaces together with others.
			own := snapshot.Requirement{Key: labelMetadataName, Op: snapshot.In, Values: []string{namespace}}
			p.Namespaces = append(p.Namespaces, own)
			slices.SortFunc(p.Namespaces, compareRequirements)
		}
		out = append(out, p)
	}
	return out
}

// subject returns the pods of the terms as those that a policy selects: a policy in
// a namespace is found by that, unless it asks anything of the namespace.
func (t *termSet) subject(namespace string) snapshot.Subject {
	out := snapshot.Subject(t.pods(namespace))
	for i, p := range out {
		if namespace != "" && len(p.Namespaces) == 1 {
			out[i] = snapshot.PodPeer{OwnNamespace: true, Pods: p.Pods}
		}
	}
	return out
}

// The labels that Calico gives to endpoints and their Namespaces by itself, and
// the prefixes of the labels that an endpoint inherits from its Namespace and its
// ServiceAccount (libcalico-go/lib/backend/k8s/conversion).
const (
	labelNamespace        = "projectcalico.org/namespace"
	labelOrchestrator     = "projectcalico.org/orchestrator"
	labelServiceAccount   = "projectcalico.org/serviceaccount"
	labelName             = "projectcalico.org/name"
	prefixNamespaceLabels = "pcns."
	prefixAccountLabels   = "pcsa."

	// orchestrator is what the label says of every pod.
	orchestrator = "k8s"
	// labelMetadataName is the label that Kubernetes gives to each Namespace.
	labelMetadataName = "kubernetes.io/metadata.name"
)

// namespaceKey stands before the keys of a Namespace's labels where they are
// mixed with those of a pod, whose keys never hold a blank.
const namespaceKey = "namespace "

// certainty says how much of a condition can be told without any labels.
type certainty uint8

const (
	dependsOnLabels certainty = iota // on the labels
	always
	never
	unknown // it depends on what no fact holds
)

// condition returns what a condition on a label asks of a pod and its Namespace,
// be it in the negative. Its key is that of the pod's label, or of the
// Namespace's behind namespaceKey.
func (e *expr) condition(negated bool) (snapshot.Requirement, certainty) {
	r, truth := simplified(e.label), dependsOnLabels
	switch {
	case r.Op == snapshot.In && len(r.Values) == 0:
		truth = never
	case r.Op == snapshot.NotIn && len(r.Values) == 0:
		truth = always
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

// simplified returns the condition without an operator where it asks for no
// more than the label: every value contains the empty string.
func simplified(r snapshot.Requirement) snapshot.Requirement {
	switch r.Op {
	case snapshot.Contains, snapshot.HasPrefix, snapshot.HasSuffix:
		if r.Values[0] == "" {
			return snapshot.Requirement{Key: r.Key, Op: snapshot.Exists}
		}
	}
	return r
}

// resolve finds out whose label a condition is about.
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

// accountCondition tells of the account of a pod no more than that there is one
// and that it has a name: which one it is stands in no fact.
func accountCondition(r snapshot.Requirement) (snapshot.Requirement, certainty) {
	if r.Key == labelName && r.Op == snapshot.Exists {
		return r, always
	}
	return r, unknown
}
