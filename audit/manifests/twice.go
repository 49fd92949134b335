package manifests

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// identity tells one object from another.
type identity struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// reading is where an object was read, and what it held.
type reading struct {
	where string
	sum   [sha256.Size]byte
}

// twice notes an object, and names one that was read before and held something
// else: which of the two is so cannot be known, and the one that is read last
// counts. An object that is the same again, as in two exports, is no problem.
func (r *reader) twice(where string, o identity, data json.RawMessage) {
	now := reading{where, sha256.Sum256(data)}
	if before, ok := r.seen[o]; ok && before.sum != now.sum {
		r.problem(where, fmt.Errorf("%s %s is another one than in %s", o.Kind, o.Name, before.where))
	}
	r.seen[o] = now
}
