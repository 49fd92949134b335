package snapshot

import "time"

// AdmissionControl is the fact of something that may reject an object at
// admission: one webhook of a ValidatingWebhookConfiguration, or a
// ValidatingAdmissionPolicy.
type AdmissionControl struct {
	Meta
	Webhook string // the webhook's name; empty for a policy
	// Covers are the kinds whose creation or update it checks.
	Covers []AdmissionRule
	// FailsOpen is true if objects are admitted when it can't be reached.
	FailsOpen bool
	Timeout   time.Duration // of a webhook
	// Namespaces selects the Namespaces whose objects it checks.
	Namespaces Selector
	// Conditional is true if it checks only some objects, by conditions that are
	// not evaluated here.
	Conditional bool
}

// AdmissionRule is a set of kinds and operations.
type AdmissionRule struct {
	Groups, Resources []string // "*" for any
	Creates, Updates  bool
}

// AdmissionBinding is the fact of a ValidatingAdmissionPolicyBinding.
type AdmissionBinding struct {
	Meta
	Policy     string
	Denies     bool // else it only warns, or writes to the audit log
	Namespaces Selector
}

// Looks reports whether it checks the creation, or the update, of objects of a
// kind.
func (g *AdmissionControl) Looks(kind Kind) (creates, updates bool) {
	for _, r := range g.Covers {
		if has(r.Groups, kind.Group()) && has(r.Resources, kind.Resource()) {
			creates, updates = creates || r.Creates, updates || r.Updates
		}
	}
	return creates, updates
}

func has(list []string, s string) bool {
	for _, l := range list {
		if l == s || l == "*" || l == "*/*" {
			return true
		}
	}
	return false
}

// ConstraintTemplate is the fact of a Gatekeeper ConstraintTemplate: which kinds
// its rule looks up in Gatekeeper's replica of the cluster.
type ConstraintTemplate struct {
	Meta
	// Requires are the kinds that must be replicated: all of the lists, and any
	// one of each list.
	Requires [][]VersionKind
	// LooksUp is true if the rule reads the replica, whether or not it declares
	// what it needs.
	LooksUp bool
	// Unreadable is why the requirements of the template can't be read.
	Unreadable string
}

// Replication is the fact of an object that tells Gatekeeper which kinds to
// replicate: its Config, or a SyncSet.
type Replication struct {
	Meta
	Kinds []VersionKind
	// Ignored is why Gatekeeper ignores the object.
	Ignored string
}

// VersionKind is a kind of objects in one version.
type VersionKind struct {
	Group, Version, Kind string
}

// String returns the kind as people write it: "networking.k8s.io/v1 Ingress".
func (k VersionKind) String() string {
	if k.Group == "" {
		return k.Version + " " + k.Kind
	}
	return k.Group + "/" + k.Version + " " + k.Kind
}
