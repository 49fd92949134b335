package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// Advisory is worth a line in the report, but never a finding.
type Advisory struct {
	Subject Subject
	Owners  []Owner
	Message string
	Objects []Object
}

// Object is an object that a violation rests on.
type Object struct {
	snapshot.Ref
	Owner   string    // the owner's name, empty where it is not known
	Created time.Time // zero where not known
	Reason  string    // a word for its part in it, such as "server-alias"
	Detail  string    // more of it for people
}

// ObjectOf returns the object of a violation.
func ObjectOf(m *snapshot.Meta, owner Owner, reason, detail string) Object {
	return Object{Ref: m.Ref(), Owner: owner.Name, Created: m.Created, Reason: reason, Detail: detail}
}

// CompareObjects orders objects by creation, then reference. Those whose
// creation is not known come last.
func CompareObjects(a, b Object) int {
	switch {
	case a.Created.Equal(b.Created):
		return a.Ref.Compare(b.Ref)
	case a.Created.IsZero():
		return 1
	case b.Created.IsZero():
		return -1
	}
	return a.Created.Compare(b.Created)
}

// Severity is what a violation weighs. The zero value is none.
type Severity uint8

// The severities, the lightest first.
const (
	Low Severity = iota + 1
	Medium
	High
)

// String returns the severity in lower case, or "none".
func (s Severity) String() string {
	switch s {
	case Low:
		return "low"
	case Medium:
		return "medium"
	case High:
		return "high"
	}
	return "none"
}

// UnmarshalText reads low, medium or high.
func (s *Severity) UnmarshalText(text []byte) error {
	for _, v := range []Severity{Low, Medium, High} {
		if v.String() == string(text) {
			*s = v
			return nil
		}
	}
	return fmt.Errorf("severity %q is none of low, medium, high", text)
}

// MarshalText returns what UnmarshalText reads.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Lower returns the severity n steps lighter, at least Low.
func (s Severity) Lower(n uint8) Severity {
	if s <= Low || uint8(s) <= n {
		return Low
	}
	return max(s-Severity(n), Low)
}
