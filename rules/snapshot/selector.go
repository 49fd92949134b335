package snapshot

import "slices"

// Operator relates a label key to values, as in Kubernetes label selectors.
type Operator string

// The operators of a label selector.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn" // also true where the label is absent
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// Requirement is one condition on one label.
type Requirement struct {
	Key    string
	Op     Operator
	Values []string // sorted; of In and NotIn only
}

// Matches reports whether the labels meet the requirement.
func (r Requirement) Matches(l Labels) bool {
	value, ok := l.Get(r.Key)
	switch r.Op {
	case In:
		return ok && slices.Contains(r.Values, value)
	case NotIn:
		return !ok || !slices.Contains(r.Values, value)
	case Exists:
		return ok
	case DoesNotExist:
		return !ok
	}
	return false
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
