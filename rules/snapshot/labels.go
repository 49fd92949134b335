package snapshot

import (
	"iter"
	"slices"
	"strconv"
)

// NamespaceNameLabel is the label with its own name that every Namespace carries.
const NamespaceNameLabel = "kubernetes.io/metadata.name"

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

// Key returns a string that two label sets share if and only if they are
// equal.
func (l Labels) Key() string { return string(l.AppendKey(nil)) }

// AppendKey adds the Key to a buffer.
func (l Labels) AppendKey(key []byte) []byte {
	for _, s := range l.pairs {
		// The length comes first, since a manifest can carry any separator.
		key = strconv.AppendInt(key, int64(len(s)), 36)
		key = append(append(key, ':'), s...)
	}
	return key
}

// Map returns labels with the keys and values that a function makes of these, which
// must be equal to them.
func (l Labels) Map(same func(string) string) Labels {
	pairs := make([]string, len(l.pairs))
	for i, s := range l.pairs {
		pairs[i] = same(s)
	}
	return Labels{pairs: pairs}
}

// With returns the labels and the given pairs (key, value, key, value ...)
// beside them; a key that is there already keeps its value.
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
