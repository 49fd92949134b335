package calico

import (
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// labelScope says whose labels stand in a selector.
type labelScope uint8

const (
	endpointLabels  labelScope = iota // pods, and what else has an address
	namespaceLabels                   // Namespaces
	accountLabels                     // ServiceAccounts
)

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
