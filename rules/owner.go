package rules

import (
	"fmt"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Owner is who must act for an object.
type Owner struct {
	// Name is the team's name. It is empty where no owner is known.
	Name string
	// Namespace is the namespace that stands for the owner where none is
	// known: each such namespace is an owner of its own.
	Namespace string
	// Source says what decided, for people: "label owner of the Namespace".
	Source string
	// Contradicts is the object's own owner key where it names another owner
	// than its Namespace and was not believed.
	Contradicts snapshot.OwnerKey
}

// Is reports whether two objects have the same owner.
func (o Owner) Is(other Owner) bool { return o.ID() == other.ID() }

// Known reports whether somebody is named as owner.
func (o Owner) Known() bool { return o.Name != "" }

// String returns the owner as people write it.
func (o Owner) String() string {
	if o.Known() {
		return o.Name
	}
	return "no owner"
}

// ID returns what makes two owners the same.
func (o Owner) ID() OwnerID {
	if o.Known() {
		return OwnerID{team: o.Name}
	}
	return OwnerID{namespace: o.Namespace}
}

// OwnerID is what makes owners one: a team, or the namespace that stands for one
// that is not known.
type OwnerID struct{ team, namespace string }

// SameOwner reports whether all owners are one.
func SameOwner(owners []Owner) bool {
	return !slices.ContainsFunc(owners, func(o Owner) bool { return !o.Is(owners[0]) })
}

// Contradiction returns the advisory for an object that names another owner
// than its Namespace has, and whether there is one.
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
		Message: fmt.Sprintf("its %s %s names %s as owner, but the Namespace belongs to %s, who counts",
			sort, claimed.Key, claimed.Value, owner.Name),
		Objects: []Object{ObjectOf(m, owner, "owner-contradiction", "")},
	}, true
}

// SubjectOf returns an object as a subject.
func SubjectOf(m *snapshot.Meta) Subject {
	return Subject{Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
}
