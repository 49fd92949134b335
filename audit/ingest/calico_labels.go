package ingest

import (
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// calicoScope says whose labels stand in a selector.
type calicoScope uint8

const (
	calicoEndpoint       calicoScope = iota // pods, and what else has an address
	calicoNamespace                         // Namespaces
	calicoServiceAccount                    // ServiceAccounts
)

// The labels that Calico gives to endpoints and their Namespaces by itself, and
// the prefixes of the labels that an endpoint inherits from its Namespace and its
// ServiceAccount (libcalico-go/lib/backend/k8s/conversion).
const (
	calicoLabelNamespace      = "projectcalico.org/namespace"
	calicoLabelOrchestrator   = "projectcalico.org/orchestrator"
	calicoLabelServiceAccount = "projectcalico.org/serviceaccount"
	calicoLabelName           = "projectcalico.org/name"
	calicoPrefixNamespace     = "pcns."
	calicoPrefixAccount       = "pcsa."

	// calicoOrchestrator is what the label says of every pod.
	calicoOrchestrator = "k8s"
	// calicoNamespaceName is the label that Kubernetes gives to each Namespace.
	calicoNamespaceName = "kubernetes.io/metadata.name"
)

// calicoNamespaceMark stands before the keys of a Namespace's labels where they are
// mixed with those of a pod, whose keys never hold a blank.
const calicoNamespaceMark = "namespace "

// calicoTruth says how much of a condition can be told without any labels.
type calicoTruth uint8

const (
	calicoDepends calicoTruth = iota // on the labels
	calicoAlways
	calicoNever
	calicoUnknown // it depends on what no fact holds
)

// condition returns what a condition on a label asks of a pod and its Namespace,
// be it in the negative. Its key is that of the pod's label, or of the
// Namespace's behind calicoNamespaceMark.
func (e *calicoExpr) condition(negated bool) (snapshot.Requirement, calicoTruth) {
	r, truth := calicoPlain(e.label), calicoDepends
	switch {
	case r.Op == snapshot.In && len(r.Values) == 0:
		truth = calicoNever
	case r.Op == snapshot.NotIn && len(r.Values) == 0:
		truth = calicoAlways
	default:
		r, truth = e.scope.resolve(r)
	}
	if !negated {
		return r, truth
	}
	switch truth {
	case calicoAlways:
		return r, calicoNever
	case calicoNever:
		return r, calicoAlways
	}
	return r.Not(), truth
}

// calicoPlain returns the condition without an operator where it asks for no
// more than the label: every value contains the empty string.
func calicoPlain(r snapshot.Requirement) snapshot.Requirement {
	switch r.Op {
	case snapshot.Contains, snapshot.HasPrefix, snapshot.HasSuffix:
		if r.Values[0] == "" {
			return snapshot.Requirement{Key: r.Key, Op: snapshot.Exists}
		}
	}
	return r
}

// resolve finds out whose label a condition is about.
func (s calicoScope) resolve(r snapshot.Requirement) (snapshot.Requirement, calicoTruth) {
	switch s {
	case calicoNamespace:
		return calicoNamespaceCondition(r)
	case calicoServiceAccount:
		return calicoAccountCondition(r)
	}
	if key, ok := strings.CutPrefix(r.Key, calicoPrefixNamespace); ok {
		r.Key = key
		return calicoNamespaceCondition(r)
	}
	if key, ok := strings.CutPrefix(r.Key, calicoPrefixAccount); ok {
		r.Key = key
		return calicoAccountCondition(r)
	}
	switch r.Key {
	case calicoLabelNamespace:
		r.Key = calicoLabelName
		return calicoNamespaceCondition(r)
	case calicoLabelServiceAccount:
		r.Key = calicoLabelName
		return calicoAccountCondition(r)
	case calicoLabelOrchestrator:
		if r.Holds(calicoOrchestrator, true) {
			return r, calicoAlways
		}
		return r, calicoNever
	}
	return r, calicoDepends
}

func calicoNamespaceCondition(r snapshot.Requirement) (snapshot.Requirement, calicoTruth) {
	if r.Key == calicoLabelName {
		r.Key = calicoNamespaceName
	}
	truth := calicoDepends
	// Every Namespace has it.
	if r.Key == calicoNamespaceName && r.Op == snapshot.Exists {
		truth = calicoAlways
	}
	r.Key = calicoNamespaceMark + r.Key
	return r, truth
}

// calicoAccountCondition tells of the account of a pod no more than that there is one
// and that it has a name: which one it is stands in no fact.
func calicoAccountCondition(r snapshot.Requirement) (snapshot.Requirement, calicoTruth) {
	if r.Key == calicoLabelName && r.Op == snapshot.Exists {
		return r, calicoAlways
	}
	return r, calicoUnknown
}
