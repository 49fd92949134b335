package rules

import (
	"fmt"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Owner is the team that must act on an object.
type Owner struct {
	// Name is the team's name. It is empty if no owner is known.
	Name string
	// Namespace identifies the owner if none is known: each such namespace counts
	// as an owner of its own.
	Namespace string
	// Unverified is true if only an object in a Namespace without an owner says so. Anyone
	// who can write there could say it, so the owner is another one than the team of that
	// name: it is who is notified, and differs from other owners in the namespace.
	Unverified bool
	// Source says for people where the owner comes from: "label owner of the
	// Namespace".
	Source string
	// Contradicts is the object's own owner key if it names a different owner than
	// the Namespace and was therefore ignored.
	Contradicts snapshot.OwnerKey
}

// Is reports whether two objects have the same owner.
func (o Owner) Is(other Owner) bool { return o.ID() == other.ID() }

// Known reports whether the owner is known by name.
func (o Owner) Known() bool { return o.Name != "" }

// Verified reports whether someone who may decide it names the owner.
func (o Owner) Verified() bool { return o.Known() && !o.Unverified }

// String returns the owner's name, or "no owner".
func (o Owner) String() string {
	if o.Known() {
		return o.Name
	}
	return "no owner"
}

// ID returns the identity of the owner.
func (o Owner) ID() OwnerID {
	if o.Unverified {
		return OwnerID{team: o.Name, namespace: o.Namespace}
	}
	return o.NameID()
}

// NameID returns the identity that the owner has if its name is believed.
func (o Owner) NameID() OwnerID {
	if o.Known() {
		return OwnerID{team: o.Name}
	}
	return OwnerID{namespace: o.Namespace}
}

// OwnerID identifies an owner: a team, the namespace of an owner that is not known, or
// both for one that is not verified.
type OwnerID struct{ team, namespace string }

// SameOwner reports whether all owners are the same.
func SameOwner(owners []Owner) bool {
	return !slices.ContainsFunc(owners, func(o Owner) bool { return !o.Is(owners[0]) })
}

// Contradiction returns the advisory for an object that names a different owner
// than its Namespace, and whether there is one.
func Contradiction(m *snapshot.Meta, owner Owner) (Advisory, bool) {
	claimed := owner.Contradicts
	if claimed.Value == "" {
		return Advisory{}, false
	}
	sort := "label"
	if claimed.Annotation {
		sort = "annotation"
	}
	return Advisory{
		Subject: SubjectOf(m),
		Owners:  []Owner{owner},
		Message: fmt.Sprintf("its %s %s names %s as the owner, but the Namespace belongs to %s, which takes precedence",
			sort, claimed.Key, claimed.Value, owner.Name),
		Objects: []Object{ObjectOf(m, owner, "owner-contradiction", "")},
	}, true
}

// SubjectOf returns an object as a subject.
func SubjectOf(m *snapshot.Meta) Subject {
	return Subject{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
}
