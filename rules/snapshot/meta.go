package snapshot

import (
	"strings"
	"time"
)

// Meta is what every fact knows of its object.
type Meta struct {
	Group     string // API group, empty for core
	Kind      string // the object's kind, such as "Ingress"
	Namespace string // empty for cluster-wide kinds
	Name      string
	Created   time.Time // zero where a manifest does not tell
	Deleting  bool      // has a deletionTimestamp
	// HostsSet is the latest moment at which the hosts in the object's spec can
	// have got their present value: Created where they never changed since. It
	// is zero where nothing is known of it. Of objects that claim hosts only.
	HostsSet time.Time
	Part     int      // which of the facts of an object that holds several
	Owner    OwnerKey // the owner that the object itself names
}

// Ref identifies an object across reads: group, kind, namespace and name. It
// leaves out the UID, since a redeployed object is the same to its owner.
type Ref struct {
	Group, Kind, Namespace, Name string
}

// Ref returns the identity of the object.
func (m *Meta) Ref() Ref { return Ref{m.Group, m.Kind, m.Namespace, m.Name} }

// String returns the reference as people write it: "Ingress team-a/shop".
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Compare orders references by namespace, name, kind and group.
func (r Ref) Compare(o Ref) int {
	if c := strings.Compare(r.Namespace, o.Namespace); c != 0 {
		return c
	}
	if c := strings.Compare(r.Name, o.Name); c != 0 {
		return c
	}
	if c := strings.Compare(r.Kind, o.Kind); c != 0 {
		return c
	}
	return strings.Compare(r.Group, o.Group)
}

// OwnerKey is an owner as an object's label or annotation names it. Anybody
// who may edit the object can write it, so it is a claim and no proof. The zero
// value means that the object names none.
type OwnerKey struct {
	Value      string // what the key says, trimmed
	Key        string // the label's or annotation's key
	Annotation bool   // false: a label
}
