package snapshot

import (
	"iter"
	"maps"
	"slices"
	"strconv"
)

// Labels are an object's labels, sorted by key. The zero value has none.
type Labels struct {
	pairs []string // key, value, key, value ...
}

// NewLabels returns the labels of a map.
func NewLabels(m map[string]string) Labels {
	if len(m) == 0 {
		return Labels{}
	}
	pairs := make([]string, 0, 2*len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
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
func (l Labels) Key() string {
	var key []byte
	for _, s := range l.pairs {
		// The length comes first, since a manifest can carry any separator.
		key = strconv.AppendInt(key, int64(len(s)), 36)
		key = append(append(key, ':'), s...)
	}
	return string(key)
}

// With returns the labels and the given pairs (key, value, key, value ...)
// beside them; a key that is there already keeps its value.
func (l Labels) With(pairs ...string) Labels {
	m := make(map[string]string, l.Len()+len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	for i := 0; i < len(l.pairs); i += 2 {
		m[l.pairs[i]] = l.pairs[i+1]
	}
	return NewLabels(m)
}
