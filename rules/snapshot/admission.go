package snapshot

import "time"

// Gate is the fact of a rule of admission that may refuse an object: one
// webhook of a ValidatingWebhookConfiguration, or a ValidatingAdmissionPolicy.
type AdmissionControl struct {
	Meta
	Webhook string // the webhook's name; empty for a policy
	// Covers are the kinds whose creation or update it looks at.
	Covers []AdmissionRule
	// FailsOpen is true where the object is let through when the gate cannot
	// be asked.
	FailsOpen bool
	Timeout   time.Duration // of a webhook
	// Namespaces selects the Namespaces whose objects it looks at.
	Namespaces Selector
	// Conditional is true where it looks at some objects only, by conditions
	// that are not judged here.
	Conditional bool
}

// GateRule is a set of kinds and operations.
type AdmissionRule struct {
	Groups, Resources []string // "*" for any
	Creates, Updates  bool
}

// GateBinding is the fact of a ValidatingAdmissionPolicyBinding.
type AdmissionBinding struct {
	Meta
	Policy     string
	Denies     bool // else it only warns, or writes to the audit log
	Namespaces Selector
}

// Looks reports whether the gate looks at the creation, or at the update, of
// objects of a kind.
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

// ConstraintTemplate is the fact of a ConstraintTemplate of Gatekeeper: which
// kinds its rule looks up in Gatekeeper's copy of the cluster.
type ConstraintTemplate struct {
	Meta
	// Requires are the kinds that must be in the copy: all of the lists, and of
	// each list any one.
	Requires [][]VersionKind
	// LooksUp is true where the rule reads the copy, whatever it says of it.
	LooksUp bool
	// Unreadable is why what the template requires cannot be read.
	Unreadable string
}

// Replication is the fact of an object that tells Gatekeeper which kinds to copy:
// its Config, or a SyncSet.
type Replication struct {
	Meta
	Kinds []VersionKind
	// Ignored is why Gatekeeper passes the object over.
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
