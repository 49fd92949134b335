package snapshot

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
