package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Position is a place in a config file.
type Position struct {
	File string // as it was named to Read or Parse
	Line int    // from 1; zero for the file as a whole
	Path string // such as owners.teams[0].slack; empty for the whole document
}

// String returns the place as "config.yaml:12: owners.teams[0].slack".
func (p Position) String() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d", s, p.Line)
	}
	if p.Path != "" {
		s += ": " + p.Path
	}
	return s
}

// Error is one mistake in a config file.
type Error struct {
	At      Position
	Message string // shows values of the file only where they look harmless
}

// Error returns one line.
func (e *Error) Error() string { return e.At.String() + ": " + e.Message }

// place is where a node stands, to sort by. Columns are never shown: in a file
// that people indent, line and path say enough.
type place struct {
	line, column int
}

// problems collects the mistakes of one file.
type problems struct {
	file string
	list []problem
}

type problem struct {
	column int
	err    *Error
}

// add records a mistake. Values of the file go through shown before they come
// here.
func (p *problems) add(at place, path, format string, args ...any) {
	err := &Error{At: Position{p.file, at.line, path}, Message: fmt.Sprintf(format, args...)}
	p.list = append(p.list, problem{at.column, err})
}

// err returns all mistakes as one error, sorted by place and path, or nil.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b problem) int {
		return cmp.Or(cmp.Compare(a.err.At.Line, b.err.At.Line), cmp.Compare(a.column, b.column),
			strings.Compare(a.err.At.Path, b.err.At.Path))
	})
	errs := make([]error, len(p.list))
	for i := range p.list {
		errs[i] = p.list[i].err
	}
	return errors.Join(errs...)
}
