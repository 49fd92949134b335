package snapshot

import (
	"iter"
	"slices"
	"strconv"
	"strings"
)

// NamespaceNameLabel is the label that every Namespace has with its own name.
const NamespaceNameLabel = "kubernetes.io/metadata.name"

// The keys under which a Selector of pods selects them by their ServiceAccount: by
// its name, which every pod has, and by its labels. No label of a pod has such a
// key, because they contain blanks.
const (
	ServiceAccountKey         = "service account"
	ServiceAccountLabelPrefix = "service account label "
)

// DefaultServiceAccount is the account of pods that name none.
const DefaultServiceAccount = "default"

// Labels are an object's labels, sorted by key. The zero value has none.
type Labels struct {
	pairs []string // key, value, key, value ...
}

// NewLabels returns the labels of a map.
func NewLabels(m map[string]string) Labels {
	if len(m) == 0 {
		return Labels{}
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	pairs := make([]string, 0, 2*len(m))
	for _, key := range keys {
		pairs = append(pairs, key, m[key])
	}
	return Labels{pairs: pairs}
}

// Get returns the value of a label and whether there is such a label.
func (l Labels) Get(key string) (value string, ok bool) {
	for i := 0; i < len(l.pairs); i += 2 {
		if l.pairs[i] == key {
			return l.pairs[i+1], true
		}
	}
	return "", false
}

// Len returns the number of labels.
func (l Labels) Len() int { return len(l.pairs) / 2 }

// All yields keys and values, sorted by key.
func (l Labels) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := 0; i < len(l.pairs); i += 2 {
			if !yield(l.pairs[i], l.pairs[i+1]) {
				return
			}
		}
	}
}

// Key returns a string that is equal only for equal label sets.
func (l Labels) Key() string { return string(l.AppendKey(nil)) }

// AppendKey adds the Key to a buffer.
func (l Labels) AppendKey(key []byte) []byte {
	for _, s := range l.pairs {
		// The length comes first, since a manifest can contain any separator.
		key = strconv.AppendInt(key, int64(len(s)), 36)
		key = append(append(key, ':'), s...)
	}
	return key
}

// Map returns labels with the keys and values that a function returns for these,
// which must be equal to them.
func (l Labels) Map(same func(string) string) Labels {
	pairs := make([]string, len(l.pairs))
	for i, s := range l.pairs {
		pairs[i] = same(s)
	}
	return Labels{pairs: pairs}
}

// With returns the labels and the given pairs (key, value, key, value ...); an
// existing key keeps its value.
func (l Labels) With(pairs ...string) Labels {
	all := make([]string, 0, len(l.pairs)+len(pairs))
	all = append(all, l.pairs...)
	for i := 0; i+1 < len(pairs); i += 2 {
		at, there := 0, false
		for at < len(all) && all[at] <= pairs[i] {
			there = there || all[at] == pairs[i]
			at += 2
		}
		if !there {
			all = slices.Insert(all, at, pairs[i], pairs[i+1])
		}
	}
	return Labels{pairs: all}
}

// Operator relates a label key to values, as in Kubernetes label selectors and in
// those of policy engines with more operators.
type Operator string

// The operators of a Kubernetes label selector.
const (
	In           Operator = "In"
	NotIn        Operator = "NotIn" // also true where the label is absent
	Exists       Operator = "Exists"
	DoesNotExist Operator = "DoesNotExist"
)

// The operators on a part of the value. The negative ones are also true if the
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

// Holds reports whether the requirement is met by a label with the value, or by an
// absent label.
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

// Positive reports whether the requirement needs the label to be present. The
// others are met if it is absent.
func (r Requirement) Positive() bool {
	switch r.Op {
	case NotIn, DoesNotExist, DoesNotContain, LacksPrefix, LacksSuffix:
		return false
	}
	return true
}

// Not returns the requirement that is met exactly if this one is not. The zero
// Operator and unknown ones have no opposite.
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
