package snapshot

import (
	"slices"
	"strings"
)

// Operator relates a label key to values, as in Kubernetes label selectors and in
// those of policy engines that know more.
type Operator string

// The operators of a Kubernetes label selector.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn" // also true where the label is absent
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// The operators on a part of the value. The negative ones are also true where the
// label is absent.
const (
	Contains       Operator = "Contains"
	DoesNotContain Operator = "DoesNotContain"
	HasPrefix      Operator = "HasPrefix"
	LacksPrefix    Operator = "LacksPrefix"
	HasSuffix      Operator = "HasSuffix"
	LacksSuffix    Operator = "LacksSuffix"
)

// Requirement is one condition on one label.
type Requirement struct {
	Key string
	Op  Operator
	// Values are sorted: any number for In and NotIn, none for Exists and
	// DoesNotExist, exactly one for the others.
	Values []string
}

// Matches reports whether the labels meet the requirement.
func (r Requirement) Matches(l Labels) bool {
	value, ok := l.Get(r.Key)
	return r.Holds(value, ok)
}

// Holds reports whether the requirement is met where the label has the value, or
// where it is absent.
func (r Requirement) Holds(value string, present bool) bool {
	switch r.Op {
	case Exists:
		return present
	case DoesNotExist:
		return !present
	case In:
		return present && slices.Contains(r.Values, value)
	case NotIn:
		return !present || !slices.Contains(r.Values, value)
	}
	if len(r.Values) != 1 {
		return false
	}
	part := r.Values[0]
	switch r.Op {
	case Contains:
		return present && strings.Contains(value, part)
	case DoesNotContain:
		return !present || !strings.Contains(value, part)
	case HasPrefix:
		return present && strings.HasPrefix(value, part)
	case LacksPrefix:
		return !present || !strings.HasPrefix(value, part)
	case HasSuffix:
		return present && strings.HasSuffix(value, part)
	case LacksSuffix:
		return !present || !strings.HasSuffix(value, part)
	}
	return false
}

// Positive reports whether the requirement asks for the label to be there. The
// others are met where it is absent.
func (r Requirement) Positive() bool {
	switch r.Op {
	case NotIn, DoesNotExist, DoesNotContain, LacksPrefix, LacksSuffix:
		return false
	}
	return true
}

// Not returns the requirement that is met just where this one is not. The zero
// Operator, and one that is not known, has no opposite.
func (r Requirement) Not() Requirement {
	switch r.Op {
	case In:
		r.Op = NotIn
	case NotIn:
		r.Op = In
	case Exists:
		r.Op = DoesNotExist
	case DoesNotExist:
		r.Op = Exists
	case Contains:
		r.Op = DoesNotContain
	case DoesNotContain:
		r.Op = Contains
	case HasPrefix:
		r.Op = LacksPrefix
	case LacksPrefix:
		r.Op = HasPrefix
	case HasSuffix:
		r.Op = LacksSuffix
	case LacksSuffix:
		r.Op = HasSuffix
	}
	return r
}

// Selector is a conjunction of requirements, sorted by key. The empty selector
// matches everything.
type Selector []Requirement

// Matches reports whether the labels meet every requirement.
func (s Selector) Matches(l Labels) bool {
	for _, r := range s {
		if !r.Matches(l) {
			return false
		}
	}
	return true
}
