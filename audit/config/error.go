package config

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Position is a position in a config file.
type Position struct {
	File string // as passed to Read or Parse
	Line int    // from 1; zero for the file as a whole
	Path string // such as owners.teams[0].slack; empty for the whole document
}

// String returns the position as "audit.yaml: line 12: owners.teams[0].slack".
func (p Position) String() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s: line %d", s, p.Line)
	}
	if p.Path != "" {
		s += ": " + p.Path
	}
	return s
}

// Error is one mistake in a config file.
type Error struct {
	At      Position
	Message string // contains values of the file only if they look harmless
}

// Error returns one line.
func (e *Error) Error() string { return e.At.String() + ": " + e.Message }

// place is the position of a node, to sort by. Columns are not reported: line and
// path are enough to find a mistake.
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

// add records a mistake. Values of the file must have passed through shown.
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

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,60}$`)

// join returns the path of a key in the section at a path. A key that would make the
// path hard to read is quoted and shortened.
func join(path, key string) string {
	switch {
	case !plainKey.MatchString(key) || holdsSecret(key):
		return path + "[" + shown(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// index returns the path of an item in the list at a path.
func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// secrets matches what people paste into the wrong field: Slack tokens, incoming
// webhook URLs, and anything before the @ of a URL.
var secrets = regexp.MustCompile(`(?is)(xox[a-z]|xapp)-[a-z0-9._-]*|hooks\.slack(-gov)?\.com.*|//.*@`)

// holdsSecret reports whether a text contains what looks like a secret.
func holdsSecret(s string) bool { return secrets.MatchString(s) }

// shown returns a value of the file as a message may show it: quoted, on one line,
// without what looks like a secret, and shortened.
func shown(value string) string {
	// Clip last, since half a secret would not be recognized.
	return strconv.Quote(clip(secrets.ReplaceAllString(value, "<secret>"), 60))
}

// clip shortens a text to a number of characters.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Suggest returns the known word that was probably meant, or "": the nearest by edit
// distance, or one with the same prefix.
func Suggest(word string, known []string) string {
	word = strings.ToLower(word)
	if word == "" || len(word) > 64 {
		return "" // not a misspelled key, and comparing takes time
	}
	best, least := "", max(len(word)/3, 1)+1
	for _, k := range known {
		if d := distance(word, strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best != "" || len(word) < 3 {
		return best
	}
	for _, k := range known {
		if strings.HasPrefix(strings.ToLower(k), word) {
			return k
		}
	}
	return ""
}

// distance is the number of bytes to insert, delete, replace or swap with their
// neighbor to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
