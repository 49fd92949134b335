package snapshot

import (
	"cmp"
	"strings"
)

// Unmodelled is the fact that there are policies of a kind that nothing here
// understands, or may be.
type Unsupported struct {
	Kind Kind
	// Namespace is where they are; empty where they may be about any.
	Namespace string
}

func compareUnmodelled(a, b Unsupported) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(string(a.Kind), string(b.Kind)))
}
