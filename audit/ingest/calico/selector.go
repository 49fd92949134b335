package calico

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Newer releases of Calico accept selectors of up to 1024 characters, older ones of any
// length, so the cost of evaluating one is bounded here: by its length, by the number of
// conditions on labels, and by the depth of its parentheses.
const (
	maxLength     = 32 << 10
	maxConditions = 128
	maxDepth      = 64
)

// errTooComplex is returned for a selector that Calico accepts and that exceeds the bounds
// here.
var errTooComplex = errors.New("selector is too complex")

// labelScope says whose labels a selector is about.
type labelScope uint8

const (
	endpointLabels  labelScope = iota // pods, and what else has an address
	namespaceLabels                   // Namespaces
	accountLabels                     // ServiceAccounts
)

// exprOp is the operation of a node of a selector.
type exprOp uint8

const (
	opAll    exprOp = iota // every endpoint
	opGlobal               // only what is in no namespace
	opLabel                // a condition on one label
	opAnd
	opOr
	opNot // of one operand
)

// expr is a parsed selector.
type expr struct {
	op    exprOp
	label snapshot.Requirement // of opLabel
	scope labelScope           // of opLabel and opAll: whose labels
	of    []*expr
}

// parseSelector parses a selector over the labels of scope. Blanks alone select
// everything. It accepts what Calico accepts (libcalico-go/lib/selector): "!" binds
// tightest, then "&&", then "||"; there are two kinds of quotes and no escapes; and only
// spaces and tabs are blanks.
func parseSelector(text string, scope labelScope) (*expr, error) {
	if len(text) > maxLength {
		return nil, errTooComplex
	}
	p := &parser{text: text, scope: scope}
	p.blanks()
	if p.at == len(text) {
		return &expr{op: opAll, scope: scope}, nil
	}
	e, err := p.or()
	if err == nil && p.at < len(text) {
		err = p.unexpected("&&, || or the end")
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// selectorField is a field that holds a selector.
type selectorField struct {
	name, text string
	scope      labelScope
}

// parseFields returns the conjunction of the fields that are set. Without any it selects
// everything.
func parseFields(fields []selectorField) (*expr, error) {
	all := &expr{op: opAnd}
	for _, f := range fields {
		if f.text == "" {
			continue
		}
		e, err := parseSelector(f.text, f.scope)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		all.of = append(all.of, e)
	}
	return all, nil
}

// errMisplacedGlobal is returned for a selector of objects without a namespace where the
// API allows none.
var errMisplacedGlobal = errors.New("global() is allowed only in the namespaceSelector of a rule")

// hasGlobal reports whether global() appears anywhere in the selector.
func (e *expr) hasGlobal() bool {
	for _, operand := range e.of {
		if operand.hasGlobal() {
			return true
		}
	}
	return e.op == opGlobal
}

// parser parses a selector from left to right. Every method leaves at after what it
// consumed and the blanks that follow.
type parser struct {
	text       string
	scope      labelScope
	at         int // in bytes
	depth      int
	conditions int
}

// or consumes one or more conjunctions.
func (p *parser) or() (*expr, error) {
	return p.chain("||", opOr, func() (*expr, error) {
		return p.chain("&&", opAnd, p.operation)
	})
}

// chain consumes operands separated by an operator.
func (p *parser) chain(operator string, op exprOp, operand func() (*expr, error)) (*expr, error) {
	var of []*expr
	for {
		e, err := operand()
		if err != nil {
			return nil, err
		}
		of = append(of, e)
		if !p.take(operator) {
			break
		}
	}
	if len(of) == 1 {
		return of[0], nil
	}
	return &expr{op: op, of: of}, nil
}

// operation consumes one condition, or a selector in parentheses, with the exclamation
// marks before it.
func (p *parser) operation() (*expr, error) {
	negated := false
	for p.take("!") {
		negated = !negated
	}
	e, err := p.operand()
	if err == nil && negated {
		e = &expr{op: opNot, of: []*expr{e}}
	}
	return e, err
}

func (p *parser) operand() (*expr, error) {
	switch {
	case p.take("("):
		if p.depth++; p.depth > maxDepth {
			return nil, errTooComplex
		}
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		p.depth--
		return e, p.expect(")")
	case p.take("all("):
		return &expr{op: opAll, scope: p.scope}, p.expect(")")
	case p.take("global("):
		return &expr{op: opGlobal}, p.expect(")")
	}
	if p.conditions++; p.conditions > maxConditions {
		return nil, errTooComplex
	}
	has := p.take("has(")
	key, err := p.key()
	if err != nil {
		return nil, err
	}
	if has {
		return p.labelled(key, snapshot.Exists), p.expect(")")
	}
	return p.comparison(key)
}

// comparison consumes the operator after a label and its right side.
func (p *parser) comparison(key string) (*expr, error) {
	operators := []struct {
		words []string // or one sign
		op    snapshot.Operator
	}{
		{[]string{"=="}, snapshot.In},
		{[]string{"!="}, snapshot.NotIn},
		{[]string{"contains"}, snapshot.Contains},
		{[]string{"starts", "with"}, snapshot.HasPrefix},
		{[]string{"ends", "with"}, snapshot.HasSuffix},
		{[]string{"not", "in"}, snapshot.NotIn},
		{[]string{"in"}, snapshot.In},
	}
	for _, o := range operators {
		if !p.takeWords(o.words) {
			continue
		}
		if o.words[len(o.words)-1] == "in" {
			values, err := p.set()
			return p.labelled(key, o.op, values...), err
		}
		value, err := p.literal()
		return p.labelled(key, o.op, value), err
	}
	return nil, p.unexpected("an operator")
}

func (p *parser) labelled(key string, op snapshot.Operator, values ...string) *expr {
	slices.Sort(values)
	return &expr{
		op: opLabel, scope: p.scope,
		label: snapshot.Requirement{Key: key, Op: op, Values: slices.Compact(values)},
	}
}

// set consumes literals in braces. The last one may be followed by a comma.
func (p *parser) set() ([]string, error) {
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	var values []string
	for !p.take("}") {
		value, err := p.literal()
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		if !p.take(",") {
			return values, p.expect("}")
		}
	}
	return values, nil
}

// literal consumes a string in single or double quotes.
func (p *parser) literal() (string, error) {
	for _, quote := range []string{`"`, `'`} {
		rest, ok := strings.CutPrefix(p.text[p.at:], quote)
		if !ok {
			continue
		}
		value, _, ok := strings.Cut(rest, quote)
		if !ok {
			return "", fmt.Errorf("position %d: the string is not terminated", p.at+1)
		}
		p.at += len(value) + 2
		p.blanks()
		return value, nil
	}
	return "", p.unexpected("a string in quotes")
}

// maxKey is the length of the longest label key in Calico.
const maxKey = 512

func (p *parser) key() (string, error) {
	rest := p.text[p.at:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !isKeyRune(r) })
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return "", p.unexpected("a label")
	}
	if end > maxKey {
		return "", fmt.Errorf("position %d: the label is longer than %d characters", p.at+1, maxKey)
	}
	p.at += end
	p.blanks()
	return rest[:end], nil
}

func isKeyRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-", r)
}

func (p *parser) blanks() {
	for p.at < len(p.text) && (p.text[p.at] == ' ' || p.text[p.at] == '\t') {
		p.at++
	}
}

// take consumes a sign if it comes next.
func (p *parser) take(sign string) bool {
	if !strings.HasPrefix(p.text[p.at:], sign) {
		return false
	}
	p.at += len(sign)
	p.blanks()
	return true
}

// takeWords consumes the words of an operator if they come next. Calico does not require
// blanks between them.
func (p *parser) takeWords(words []string) bool {
	start := p.at
	for _, word := range words {
		if !p.take(word) {
			p.at = start
			return false
		}
	}
	return true
}

func (p *parser) expect(sign string) error {
	if !p.take(sign) {
		return p.unexpected(sign)
	}
	return nil
}

func (p *parser) unexpected(want string) error {
	rest := p.text[p.at:]
	if rest == "" {
		return fmt.Errorf("position %d: the selector ends where %s is expected", p.at+1, want)
	}
	if len(rest) > 12 {
		rest = rest[:12] + "..."
	}
	return fmt.Errorf("position %d: %q found where %s is expected", p.at+1, rest, want)
}
