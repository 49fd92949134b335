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

// digest stands for an identity or a content. One of either is kept for every
// object that is read, so that it had better be small; nobody can make two of 128
// bits that are alike.
type digest [16]byte

func digestOf(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest(sum[:])
}

// digest is that of the parts of an identity, none of which can pass for two.
func (o identity) digest() digest {
	return digestOf(fmt.Appendf(nil, "%q %q %q %q %q", o.Group, o.Version, o.Kind, o.Namespace, o.Name))
}

// reading is where an object was read, and what it held.
type reading struct {
	where string
	sum   digest
}

// twice notes an object, and names one that was read before and held something
// else: which of the two is so cannot be known, and the one that is read last
// counts. An object that is the same again, as in two exports, is no problem. It
// reports whether the object was read before.
func (r *reader) twice(where string, o identity, data json.RawMessage) bool {
	// In a list the same object stands behind more blanks.
	r.compact.Reset()
	if json.Compact(&r.compact, data) == nil {
		data = r.compact.Bytes()
	}
	key, now := o.digest(), reading{where, digestOf(data)}
	before, ok := r.seen[key]
	if ok && before.sum != now.sum {
		r.problem(where, fmt.Errorf("%s %s is another one than in %s", o.Kind, o.called(), before.where))
	}
	r.seen[key] = now
	return ok
}

// called is the name of an object, with its namespace if it is in one.
func (o identity) called() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}
