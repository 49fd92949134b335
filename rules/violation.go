package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Violation is one broken instance of an invariant, as found in one sweep.
type Violation struct {
	Subject Subject
	// Verdict is the rule's word for what is wrong, such as "missing".
	Verdict string
	// Provisional is true if the violation rests on objects that may be gone soon, because
	// they are being deleted. It is pending until another sweep sees a violation of the
	// subject.
	Provisional bool
	// Downgrade is the number of steps by which the severity is below the rule's.
	Downgrade uint8
	// Culprit is the namespace that caused the violation, which is the one that counts
	// against limits. It must not follow from what the accused can write. Empty: the
	// namespace of the subject, or else that of the newest object.
	Culprit string
	// Owners must act. The list may contain duplicates.
	Owners []Owner
	// Fallback is true if the fallback owner must act as well, if there is one.
	Fallback bool
	// Message says what is wrong, Cause what is known about how it happened, and
	// Remedy what to do. Each is a sentence or two for people. Names in them are
	// raw: the code that prints them must escape them.
	Message, Cause, Remedy string
	// MessageTail and CauseTail are the ends of Message and Cause that follow from
	// objects of the kinds in Rule.Affected, such as their number. A finding did not
	// change if only they did.
	MessageTail, CauseTail string
	// Objects are the objects that the violation rests on.
	Objects []Object
}

// Subject is the thing that is wrong. Together with the rule's name it identifies
// a finding, so it holds nothing that changes while the same thing stays wrong.
type Subject struct {
	Kind      string
	Namespace string
	Name      string
	Detail    string
}

// String returns the subject as messages spell it.
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

// ID returns the identity of a rule's finding about a subject: the rule's name and
// a hash. It is a valid object name.
func ID(rule string, s Subject) string {
	h := sha256.New()
	for _, part := range []string{rule, s.Kind, s.Namespace, s.Name, s.Detail} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return rule + "-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// Advisory is a line in the report that never becomes a finding.
type Advisory struct {
	Subject Subject
	Owners  []Owner
	Message string
	Objects []Object
}

// Object is an object that a violation rests on.
type Object struct {
	snapshot.Ref
	Owner   string    // the owner's name, empty if unknown
	Created time.Time // zero if unknown
	Reason  string    // a word for its role, such as "server-alias"
	Detail  string    // the same for people
}

// ObjectOf returns an object as part of a violation.
func ObjectOf(m *snapshot.Meta, owner Owner, reason, detail string) Object {
	return Object{Ref: m.Ref(), Owner: owner.Name, Created: m.Created, Reason: reason, Detail: detail}
}

// CompareObjects orders objects by creation time, then reference. Those whose
// creation time is unknown come last.
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

// Severity says how serious a violation is. The zero value is none.
type Severity uint8

// The severities, in ascending order.
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
	return fmt.Errorf("severity %q is not low, medium or high", text)
}

// MarshalText returns what UnmarshalText reads.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Lower returns the severity n steps lower, at least Low.
func (s Severity) Lower(n uint8) Severity {
	if s <= Low || uint8(s) <= n {
		return Low
	}
	return max(s-Severity(n), Low)
}
