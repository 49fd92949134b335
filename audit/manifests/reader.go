package manifests

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/runtime/schema"

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

// read reads the documents of one stream, be it YAML or JSON.
func (r *reader) read(ctx context.Context, name string, in io.Reader) {
	// A shell of Windows writes what kubectl prints in UTF-16.
	buffered := bufio.NewReader(transform.NewReader(in, unicode.BOMOverride(transform.Nop)))
	if startsJSON(buffered) {
		r.readJSON(ctx, name, buffered)
		return
	}
	r.readYAML(ctx, name, buffered)
}

func (r *reader) readYAML(ctx context.Context, name string, in *bufio.Reader) {
	documents := documents{in: in}
	for n := 1; ctx.Err() == nil; n++ {
		where := fmt.Sprintf("%s document %d", name, n)
		text, err := documents.next()
		var bad documentError
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, &bad):
			r.problem(where, err)
			continue
		case err != nil:
			r.problem(where, err)
			return
		}
		v, err := parseYAML(text)
		switch {
		case err != nil:
			r.problem(where, fmt.Errorf("parse YAML: %w", err))
		case string(v.text) != "null": // which is nothing at all
			r.documents++
			r.object(where, v, typeMeta{}, 0)
		}
	}
}
