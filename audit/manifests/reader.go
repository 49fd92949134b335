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

// reader gathers what the documents hold.
type reader struct {
	ingester *ingest.Ingester
	entries  map[schema.GroupVersionKind]entry
	wanted   map[snapshot.Kind]bool

	facts    snapshot.Facts
	items    map[snapshot.Kind]int
	passed   map[audit.IgnoredKind]int // by kind, with Items 0
	problems []audit.Problem
	unlisted int // problems beyond those
	// documents counts those that hold anything, and seen has every object that
	// was taken in.
	documents int
	seen      map[digest]reading
	compact   bytes.Buffer // for one object at a time
}

// maxProblems is how many problems are listed. Each part of a file may be one, so that
// they would take many times what the file does.
const maxProblems = 1000

func (r *reader) problem(where string, err error) {
	if len(r.problems) == maxProblems {
		r.unlisted++
		return
	}
	// The path stands in where already.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	r.problems = append(r.problems, audit.Problem{Where: where, Reason: oneLine(err.Error())})
}

// listed returns the problems, of which the last one may say that there are more.
func (r *reader) listed() []audit.Problem {
	if r.unlisted == 0 {
		return r.problems
	}
	return append(r.problems, audit.Problem{Where: "elsewhere", Reason: fmt.Sprintf("%d more problems", r.unlisted)})
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

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
		r.problem(where, fmt.Errorf("%s %s differs from the one in %s", o.Kind, o.called(), before.where))
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
