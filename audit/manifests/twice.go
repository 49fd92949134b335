package manifests

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// reading is where an object was read, and what it held.
type reading struct {
	where string
	sum   [sha256.Size]byte
}

// twice notes an object, and names one that was read before and held something
// else: which of the two is so cannot be known, and the one that is read last
// counts. An object that is the same again, as in two exports, is no problem.
func (r *reader) twice(where, apiVersion, kind string, data json.RawMessage) {
	var o struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(data, &o) != nil {
		return
	}
	name := fmt.Sprintf("%s %s %s/%s", apiVersion, kind, o.Metadata.Namespace, o.Metadata.Name)
	now := reading{where, sha256.Sum256(data)}
	if before, ok := r.seen[name]; ok && before.sum != now.sum {
		r.problem(where, fmt.Errorf("%s %s is another one than in %s", kind, o.Metadata.Name, before.where))
	}
	r.seen[name] = now
}
