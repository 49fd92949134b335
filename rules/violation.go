package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Violation is one broken instance of an invariant, as judged in one sweep.
type Violation struct {
	Subject Subject
	// Verdict is a word of the rule's own for what is wrong, such as
	// "missing".
	Verdict string
	// Lighter is by how many steps this violation weighs less than the rule.
	Downgrade uint8
	// Owners must act. Several may be named more than once.
	Owners []Owner
	// Message says what is wrong, Cause what is known of how it came about,
	// and Remedy what to do. Each is a sentence or two for people. Names in
	// them are as the cluster has them: whoever prints them makes them safe.
	Message, Cause, Remedy string
	// Objects are the objects that the violation rests on.
	Objects []Object
}

// Subject is the thing that is wrong. Together with the rule's name it is the
// identity of a finding: it holds nothing that changes while the same thing
// stays wrong.
type Subject struct {
	Kind      string
	Namespace string
	Name      string
	Detail    string
}

// String returns the subject as people write it.
func (s Subject) String() string {
	name := s.Name
	if s.Namespace != "" {
		name = s.Namespace + "/" + name
	}
	if s.Detail != "" {
		name += " (" + s.Detail + ")"
	}
	return name
}

// Compare orders subjects by namespace, name, detail and kind.
func (s Subject) Compare(o Subject) int {
	for _, c := range []int{
		strings.Compare(s.Namespace, o.Namespace), strings.Compare(s.Name, o.Name),
		strings.Compare(s.Detail, o.Detail), strings.Compare(s.Kind, o.Kind),
	} {
		if c != 0 {
			return c
		}
	}
	return 0
}

// ID returns the identity of the finding that a rule has on a subject: the
// rule's name and a hash, fit to be an object's name.
func ID(rule string, s Subject) string {
	h := sha256.New()
	for _, part := range []string{rule, s.Kind, s.Namespace, s.Name, s.Detail} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return rule + "-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// Object is an object that a violation rests on.
type Object struct {
	snapshot.Ref
	Owner   string    // the owner's name, empty where it is not known
	Created time.Time // zero where not known
	Reason  string    // a word for its part in it, such as "server-alias"
	Detail  string    // more of it for people
}

// Advisory is worth a line in the report, but never a finding.
type Advisory struct {
	Subject Subject
	Owners  []Owner
	Message string
	Objects []Object
}

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

// Known reports whether somebody is named as owner.
func (o Owner) Known() bool { return o.Name != "" }

// Is reports whether two objects have the same owner.
func (o Owner) Is(other Owner) bool { return o.id() == other.id() }

// ownerID is what makes owners one: a team, or the namespace that stands for one
// that is not known.
type ownerID struct{ team, namespace string }

func (o Owner) id() ownerID {
	if o.Known() {
		return ownerID{team: o.Name}
	}
	return ownerID{namespace: o.Namespace}
}

// String returns the owner as people write it.
func (o Owner) String() string {
	if o.Known() {
		return o.Name
	}
	return "no owner"
}

// SameOwner reports whether all owners are one.
func SameOwner(owners []Owner) bool {
	return !slices.ContainsFunc(owners, func(o Owner) bool { return !o.Is(owners[0]) })
}
