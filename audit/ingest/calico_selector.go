package ingest

import (
	"errors"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Newer releases of Calico take selectors of 1024 characters at most, older ones of
// any length, so what it takes to judge one is bounded here: by its length, by the
// conditions on labels in it, and by how deep its parentheses nest.
const (
	maxCalicoLength     = 32 << 10
	maxCalicoConditions = 128
	maxCalicoDepth      = 64
)

// errCalicoComplex is of a selector that Calico takes and that is too much to be
// judged here.
var errCalicoComplex = errors.New("selector is too complex")

// calicoOp says what a node of a selector is.
type calicoOp uint8

const (
	calicoAll    calicoOp = iota // every endpoint
	calicoGlobal                 // only what is in no namespace
	calicoLabel                  // a condition on one label
	calicoAnd
	calicoOr
	calicoNot // of one operand
)

// calicoExpr is a selector of Calico as it is written.
type calicoExpr struct {
	op    calicoOp
	label snapshot.Requirement // of calicoLabel
	scope calicoScope          // of calicoLabel: whose labels
	of    []*calicoExpr
}

// parseCalicoSelector parses a selector, whose labels are those of scope. Blanks
// alone select everything. What is accepted is what Calico accepts
// (libcalico-go/lib/selector): "!" binds tightest, then "&&", then "||"; there
// are two kinds of quotes and no escapes; and only spaces and tabs are blanks.
func parseCalicoSelector(text string, scope calicoScope) (*calicoExpr, error) {
	if len(text) > maxCalicoLength {
		return nil, errCalicoComplex
	}
	p := &calicoParser{text: text, scope: scope}
	p.blanks()
	if p.at == len(text) {
		return &calicoExpr{op: calicoAll}, nil
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

// calicoParser reads a selector from the front to the back. Every method leaves
// at behind what it took and the blanks after it.
type calicoParser struct {
	text       string
	scope      calicoScope
	at         int // in bytes
	depth      int
	conditions int
}

// or takes one or more conjunctions.
func (p *calicoParser) or() (*calicoExpr, error) {
	return p.chain("||", calicoOr, func() (*calicoExpr, error) {
		return p.chain("&&", calicoAnd, p.operation)
	})
}

// chain takes operands with an operator between them.
func (p *calicoParser) chain(operator string, op calicoOp, operand func() (*calicoExpr, error)) (*calicoExpr, error) {
	var of []*calicoExpr
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
	return &calicoExpr{op: op, of: of}, nil
}

// operation takes one condition, or a whole selector in parentheses, and the
// exclamation marks before it.
func (p *calicoParser) operation() (*calicoExpr, error) {
	negated := false
	for p.take("!") {
		negated = !negated
	}
	e, err := p.operand()
	if err == nil && negated {
		e = &calicoExpr{op: calicoNot, of: []*calicoExpr{e}}
	}
	return e, err
}

func (p *calicoParser) operand() (*calicoExpr, error) {
	switch {
	case p.take("("):
		if p.depth++; p.depth > maxCalicoDepth {
			return nil, errCalicoComplex
		}
		e, err := p.or()
		if err != nil {
			return nil, err
		}
		p.depth--
		return e, p.expect(")")
	case p.take("all("):
		return &calicoExpr{op: calicoAll}, p.expect(")")
	case p.take("global("):
		return &calicoExpr{op: calicoGlobal}, p.expect(")")
	}
	if p.conditions++; p.conditions > maxCalicoConditions {
		return nil, errCalicoComplex
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
func (p *calicoParser) comparison(key string) (*calicoExpr, error) {
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

func (p *calicoParser) labelled(key string, op snapshot.Operator, values ...string) *calicoExpr {
	slices.Sort(values)
	return &calicoExpr{
		op: calicoLabel, scope: p.scope,
		label: snapshot.Requirement{Key: key, Op: op, Values: slices.Compact(values)},
	}
}

// set takes literals in braces. A comma may stand behind the last one.
func (p *calicoParser) set() ([]string, error) {
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
