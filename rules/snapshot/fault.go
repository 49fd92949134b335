package snapshot

import (
	"cmp"
	"strings"
)

// Fault is an object that exists but could not be read, or not as a whole, such as one
// with a value that its kind can't have. What it claims, selects or allows is unknown.
// A fault of one object says nothing about any other.
type Fault struct {
	Ref
	// Resource is the kind that the object belongs to.
	Resource Kind
	// Reason says what could not be read, for people: "spec.egress[0].ports: 5000000000
	// is not a port". It may quote the object and must be escaped.
	Reason string
	// Spares are the directions that the object can't affect, by Direction.
	Spares [2]bool
	// Subject are the pods that a cluster-wide policy may select. Nil is any pod.
	Subject Subject
}

// Compare orders faults by object, then reason.
func (f Fault) Compare(o Fault) int {
	return cmp.Or(f.Ref.Compare(o.Ref), strings.Compare(f.Reason, o.Reason))
}

// Anywhere reports whether the object may be in any namespace: it has one, and not even
// that could be read.
func (f *Fault) Anywhere() bool { return f.Namespace == "" && !ClusterWide(f.Resource) }
