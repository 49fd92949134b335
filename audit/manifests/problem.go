package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/eventuallytrue/audit/audit"
)

// maxProblems bounds the problems that are listed, of those that lost an object and of the
// others. Each part of a file may be one, so all of them may take many times the memory of
// the file.
const maxProblems = 1000

// problems are those of everything that was read.
type problems struct {
	lost, others []audit.Problem
	unlisted     int

	// pending are those of the file in a folder that is being read: they count for
	// nothing if it turns out to have no object.
	pending  []audit.Problem
	inFolder bool
	objects  bool // the file may have one
}

// begin begins a file. Only one in a folder may turn out to have no object: whoever names
// a file means its content.
func (p *problems) begin(inFolder bool) {
	p.pending, p.inFolder, p.objects = nil, inFolder, !inFolder
}

// end ends a file, and reports whether it is passed over, because nothing in it can have
// been an object.
func (p *problems) end() (passedOver bool) {
	passedOver = !p.objects
	if !passedOver {
		for _, one := range p.pending {
			p.keep(one)
		}
	}
	p.begin(false)
	return passedOver
}

// add records something that could not be read and may have been an object.
func (p *problems) add(where string, err error) {
	p.objects = true
	p.record(problemOf(where, err))
}

// untyped records something that is not an object.
func (p *problems) untyped(where string, err error) { p.record(problemOf(where, err)) }

// lose records an object of the given kind that could not be read.
func (p *problems) lose(where, kind string, err error) {
	one := problemOf(where, err)
	one.Kind = kind
	p.objects = true
	p.record(one)
}

// differs records an object that was read before with other content.
func (p *problems) differs(where, kind, reason string) {
	one := audit.Problem{Where: where, Reason: reason, Kind: kind, Like: "differs from another reading"}
	p.objects = true
	p.record(one)
}

func (p *problems) record(one audit.Problem) {
	// A file of nothing but problems must not take more memory than they may.
	if p.inFolder && len(p.pending) < 2*maxProblems {
		p.pending = append(p.pending, one)
		return
	}
	p.objects = true
	p.keep(one)
}

func (p *problems) keep(one audit.Problem) {
	list := &p.others
	if one.Kind != "" {
		list = &p.lost
	}
	if len(*list) == maxProblems {
		p.unlisted++
		return
	}
	*list = append(*list, one)
}

func (p *problems) count() int { return len(p.lost) + len(p.others) + p.unlisted }

// listed returns the problems, those that lost an object that rules evaluate first. The
// last one may be the number of those left out.
func (p *problems) listed() []audit.Problem {
	all := append(p.lost, p.others...)
	if p.unlisted > 0 {
		all = append(all, audit.Problem{Where: "elsewhere", Reason: fmt.Sprintf("%d more problems", p.unlisted)})
	}
	return all
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func problemOf(where string, err error) audit.Problem {
	// The path is in where already.
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	p := audit.Problem{Where: where, Reason: oneLine(err.Error())}
	// What follows differs by line.
	if what, _, ok := strings.Cut(p.Reason, ": "); ok && strings.HasPrefix(what, "parse ") {
		p.Like = what
	}
	return p
}
