package manifests

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// reader collects the facts of the documents.
type reader struct {
	ingester *ingest.Ingester
	entries  map[schema.GroupVersionKind]entry
	known    map[schema.GroupKind]entry // of any version, without those of which only some objects matter
	wanted   map[snapshot.Kind]bool
	// namespace is that of objects that name none.
	namespace string
	exclude   excludes

	facts    snapshot.Facts
	items    map[snapshot.Kind]int
	ignored  map[audit.IgnoredKind]int // by kind, with Items 0
	problems problems
	notes    notes
	// objects counts everything that has a type, lists included, and seen has every
	// object that was ingested.
	objects   int
	seen      readings
	generated generatedNames

	// name and path are those of the file that is being read, path without links and empty
	// for a stream.
	name, path string
	current    current
}

// current is the object that is being read.
type current struct {
	where   string
	unnamed bool // it names no namespace, and needs one
}

// begin begins a file.
func (r *reader) begin(name, path string, inFolder bool) {
	r.name, r.path = name, path
	r.problems.begin(inFolder)
}

// end ends a file.
func (r *reader) end() {
	if r.problems.end() {
		r.notes.untyped.add(r.name)
	}
	r.name, r.path = "", ""
}

// unparsed records a document that does not parse. What can be read of its type says what
// was lost.
func (r *reader) unparsed(where string, text []byte, err error) {
	isTemplate := template(text)
	if isTemplate {
		err = errTemplate
	}
	switch kind := r.evaluatedKind(text); {
	case kind != "":
		r.problems.lose(where, kind, err)
	case isTemplate || mentionsType(text):
		r.problems.add(where, err)
	default:
		r.problems.untyped(where, err)
	}
}

// evaluatedKind returns the kind of an object that does not parse, if rules evaluate it.
func (r *reader) evaluatedKind(text []byte) string {
	group, groupKnown, kind := typeOf(text)
	for gk, e := range r.known {
		if gk.Kind == kind && (!groupKnown || gk.Group == group) && r.wanted[e.kind] {
			return kind
		}
	}
	return ""
}
