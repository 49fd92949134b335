package calico

import (
	"errors"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Newer releases of Calico take selectors of 1024 characters at most, older ones of
// any length, so what it takes to judge one is bounded here: by its length, by the
// conditions on labels in it, and by how deep its parentheses nest.
const (
	maxLength     = 32 << 10
	maxConditions = 128
	maxDepth      = 64
)

// errTooComplex is of a selector that Calico takes and that is too much to be
// judged here.
var errTooComplex = errors.New("selector is too complex")

// exprOp says what a node of a selector is.
type exprOp uint8

const (
	opAll    exprOp = iota // every endpoint
	opGlobal               // only what is in no namespace
	opLabel                // a condition on one label
	opAnd
	opOr
	opNot // of one operand
)

// expr is a selector of Calico as it is written.
type expr struct {
	op    exprOp
	label snapshot.Requirement // of opLabel
	scope labelScope           // of opLabel: whose labels
	of    []*expr
}

// parseSelector parses a selector, whose labels are those of scope. Blanks
// alone select everything. What is accepted is what Calico accepts
// (libcalico-go/lib/selector): "!" binds tightest, then "&&", then "||"; there
// are two kinds of quotes and no escapes; and only spaces and tabs are blanks.
func parseSelector(text string, scope labelScope) (*expr, error) {
	if len(text) > maxLength {
		return nil, errTooComplex
	}
	p := &parser{text: text, scope: scope}
	p.blanks()
	if p.at == len(text) {
		return &expr{op: opAll}, nil
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

// parser reads a selector from the front to the back. Every method leaves
// at behind what it took and the blanks after it.
type parser struct {
	text       string
	scope      labelScope
	at         int // in bytes
	depth      int
	conditions int
}

// or takes one or more conjunctions.
func (p *parser) or() (*expr, error) {
	return p.chain("||", opOr, func() (*expr, error) {
		return p.chain("&&", opAnd, p.operation)
	})
}

// chain takes operands with an operator between them.
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

// operation takes one condition, or a whole selector in parentheses, and the
// exclamation marks before it.
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
		return &expr{op: opAll}, p.expect(")")
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

// comparison takes the operator behind a label and what is right of it.
func (p *parser) comparison(key string) (*expr, error) {
	operators := []struct {
		spelt []string // words, or one sign
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
		if !p.takeWords(o.spelt) {
			continue
		}
		if o.spelt[len(o.spelt)-1] == "in" {
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

// set takes literals in braces. A comma may stand behind the last one.
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
