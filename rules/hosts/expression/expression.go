// Package expression evaluates the regular expressions by which objects claim hosts:
// which names one stands for, if they are few, and whether it matches a given host.
//
// Anybody who can create an object writes them, so their cost is bounded: by the
// length of the text, by the size of the program, and by the number of names.
package expression

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

const (
	// maxText is the maximum size of an expression in bytes.
	maxText = 1 << 10
	// maxSize is the maximum size of an expression in steps of its program, where a
	// repetition counts as often as it repeats. The time of a match grows with it.
	maxSize = 2000
	// maxNames is how many names an expression may stand for. One that matches more is
	// compared with the hosts that others claim.
	maxNames = 256
)

// Expression is a regular expression for hosts in the syntax of RE2. It ignores case, as
// proxies do for hosts.
type Expression struct {
	text    string
	program *regexp.Regexp
	size    int
	names   []string
	wider   bool
	suffix  string
	literal string // part of whatever matches
}

// Parse reads an expression, which matches any part of a host unless whole is true. It
// fails if the expression is not in the syntax of RE2 or exceeds a limit: other engines
// have look-arounds and back-references, and no bound on the time of a match.
func Parse(text string, whole bool) (*Expression, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("it is longer than %d bytes", maxText)
	}
	tree, err := syntax.Parse(text, syntax.Perl|syntax.FoldCase)
	if err != nil {
		var bad *syntax.Error
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("RE2 cannot read it: %s", bad.Code)
		}
		return nil, fmt.Errorf("RE2 cannot read it: %w", err)
	}
	e := &Expression{text: text, size: size(tree)}
	if e.size > maxSize {
		return nil, fmt.Errorf("it has more than %d steps", maxSize)
	}
	full := "(?i:" + text + ")"
	if whole {
		full = "^" + full + "$"
	}
	if e.program, err = regexp.Compile(full); err != nil {
		return nil, fmt.Errorf("RE2 cannot read it: %w", err)
	}
	e.suffix, e.literal = suffix(tree, whole), literal(tree)
	all := expand(tree)
	e.wider = all.wider
	for _, b := range all.branches {
		switch {
		case !whole && !(b.begin && b.end):
			e.wider = true
		// With and without an optional anchor, a branch is the same name.
		case e.Matches(b.text) && !slices.Contains(e.names, b.text):
			e.names = append(e.names, b.text)
		}
	}
	return e, nil
}

// Names returns the names that the expression stands for, each once and in the order in
// which it spells them. Those of one that is wider are only a part of what it matches.
func (e *Expression) Names() []string { return e.names }

// Wider reports whether the expression matches more than its names.
func (e *Expression) Wider() bool { return e.wider }

// Matches reports whether the expression matches a normalized host. To look for a literal
// first is many times faster than the program.
func (e *Expression) Matches(host string) bool {
	return strings.Contains(host, e.literal) && e.program.MatchString(host)
}

// Size is a measure of the time that a match takes.
func (e *Expression) Size() int { return e.size }

// Suffix is what every host that matches ends with, or "".
func (e *Expression) Suffix() string { return e.suffix }

// EveryHost reports whether the expression matches any host there can be, as ".+" does.
// It matches names that nobody has: they are made from the expression itself, so that
// none can be written to leave them out.
func (e *Expression) EveryHost() bool {
	if e.suffix != "" {
		return false
	}
	for _, name := range e.strangers() {
		if !e.Matches(name) || !e.Matches(name+"."+name) || !e.Matches("a."+name+".b."+name) {
			return false
		}
	}
	return true
}

// EveryHostBelow reports whether the expression matches the hosts that a wildcard such as
// "*.example.com" covers, whatever their first label. It says so of one that matches a
// few of them whose labels nobody chose, see EveryHost.
func (e *Expression) EveryHostBelow(wildcard string) bool {
	for _, name := range e.strangers() {
		if e.Matches(name + strings.TrimPrefix(wildcard, "*")) {
			return true
		}
	}
	return false
}

// strangers returns a label of letters, and one of letters and digits.
func (e *Expression) strangers() [2]string {
	sum := sha256.Sum256([]byte(e.text))
	digits := []byte(hex.EncodeToString(sum[:6]))
	letters := make([]byte, 10)
	for i := range letters {
		letters[i] = 'a' + sum[6+i]%26
	}
	return [2]string{string(letters), "x" + string(digits)}
}

// size returns the size of an expression without making its program, which repetitions
// may blow up.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/8
	for _, sub := range re.Sub {
		n = min(n+size(sub), maxSize+1)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxSize+1)
}

// suffix returns the literal at the end of an expression that is bound to the end of the
// host.
func suffix(re *syntax.Regexp, whole bool) string {
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	for i := len(parts) - 1; i >= 0; i-- {
		switch part := parts[i]; {
		case part.Op == syntax.OpEndText:
			whole = true
		case part.Op == syntax.OpLiteral && whole:
			return strings.ToLower(string(part.Rune))
		default:
			return ""
		}
	}
	return ""
}

// literal returns the longest literal that is a part of whatever matches.
func literal(re *syntax.Regexp) (longest string) {
	switch re.Op {
	case syntax.OpLiteral:
		return strings.ToLower(string(re.Rune))
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			if found := literal(sub); len(found) > len(longest) {
				longest = found
			}
		}
	}
	return longest
}
