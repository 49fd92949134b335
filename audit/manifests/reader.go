package manifests

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// reader collects the facts of the documents.
type reader struct {
	ingester *ingest.Ingester
	entries  map[schema.GroupVersionKind]entry
	wanted   map[snapshot.Kind]bool

	facts    snapshot.Facts
	items    map[snapshot.Kind]int
	ignored  map[audit.IgnoredKind]int // by kind, with Items 0
	problems []audit.Problem
	unlisted int // problems beyond maxProblems
	// documents counts those that are not empty, and seen has every object that was
	// ingested.
	documents int
	seen      map[digest]reading
	compact   bytes.Buffer // for one object at a time
}

// maxProblems bounds the problems that are listed. Each part of a file may be one, so all
// of them may take many times the memory of the file.
const maxProblems = 1000

func (r *reader) problem(where string, err error) {
	if len(r.problems) == maxProblems {
		r.unlisted++
		return
	}
	// The path is in where already.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	r.problems = append(r.problems, audit.Problem{Where: where, Reason: oneLine(err.Error())})
}

// listed returns the problems. The last one may be the number of those left out.
func (r *reader) listed() []audit.Problem {
	if r.unlisted == 0 {
		return r.problems
	}
	return append(r.problems, audit.Problem{Where: "elsewhere", Reason: fmt.Sprintf("%d more problems", r.unlisted)})
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// identity identifies an object.
type identity struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// digest is a hash of an identity or of a content. Two of them are kept for every object
// that is read, so they are small; collisions of 128 bits are infeasible.
type digest [16]byte

func digestOf(data []byte) digest {
	sum := sha256.Sum256(data)
	return digest(sum[:])
}

// digest returns the hash of the quoted parts, so that no two identities share it.
func (o identity) digest() digest {
	return digestOf(fmt.Appendf(nil, "%q %q %q %q %q", o.Group, o.Version, o.Kind, o.Namespace, o.Name))
}

// reading is where an object was read, and the hash of its content.
type reading struct {
	where string
	sum   digest
}

// twice records an object, and reports whether it was read before. Another content is a
// problem: it is unknown which of the two is in force, and the last one counts. The same
// content, as in two exports, is not a problem.
func (r *reader) twice(where string, o identity, data json.RawMessage) bool {
	// In a list the same object is indented further.
	r.compact.Reset()
	if json.Compact(&r.compact, data) == nil {
		data = r.compact.Bytes()
	}
	key, now := o.digest(), reading{where, digestOf(data)}
	before, ok := r.seen[key]
	if ok && before.sum != now.sum {
		r.problem(where, fmt.Errorf("%s %s differs from the one in %s", o.Kind, o.called(), before.where))
	}
	r.seen[key] = now
	return ok
}

// called returns the name of an object, with its namespace if it has one.
func (o identity) called() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}
