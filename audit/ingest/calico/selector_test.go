package calico

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// write returns an expression with every operand in parentheses.
func (e *expr) write() string {
	var operands []string
	for _, o := range e.of {
		operands = append(operands, o.write())
	}
	switch e.op {
	case opAll:
		return "all"
	case opGlobal:
		return "global"
	case opNot:
		return "!" + operands[0]
	case opAnd:
		return "(" + strings.Join(operands, " & ") + ")"
	case opOr:
		return "(" + strings.Join(operands, " | ") + ")"
	}
	return writeRequirement(e.label)
}

func writeRequirement(r snapshot.Requirement) string {
	return strings.TrimSpace(r.Key + " " + string(r.Op) + " " + strings.Join(r.Values, ","))
}

func TestParseSelector(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing selects all", "", "all"},
		{"blanks select all", " \t ", "all"},
		{"all", "all()", "all"},
		{"all with blanks", " all( ) ", "all"},
		{"only what is in no namespace", "global()", "global"},
		{"a label that is there", "has(a.b/c-d_e)", "a.b/c-d_e Exists"},
		{"a label with blanks around", "has( a )", "a Exists"},
		{"a label that is not there", "!has(a)", "!a Exists"},
		{"a value in single quotes", "a == 'v w'", "a In v w"},
		{"a value in double quotes", `a == "it's"`, "a In it's"},
		{"no blanks at all", "a=='v'&&b!='w'", "(a In v & b NotIn w)"},
		{"another value", `a != "v"`, "a NotIn v"},
		{"one of a set", "a in {'x', \"y\" }", "a In x,y"},
		{"one of a set, sorted and once", "a in{'y','x','y'}", "a In x,y"},
		{"a set with a last comma", "a in {'x',}", "a In x"},
		{"an empty set", "a in {}", "a In"},
		{"none of a set", "a not in {'x'}", "a NotIn x"},
		{"words that run into each other", "a notin {'x'}", "a NotIn x"},
		{"a part of a value", "a contains 'x'", "a Contains x"},
		{"how a value starts", "a starts with 'x'", "a HasPrefix x"},
		{"how a value ends", "a  ends\twith 'x'", "a HasSuffix x"},
		{"labels that are called like operators", "in == 'in' && has(all)", "(in In in & all Exists)"},
		{"a label called all", "all == 'x'", "all In x"},
		{"or binds less than and", "has(a) || has(b) && has(c)", "(a Exists | (b Exists & c Exists))"},
		{"parentheses", "(has(a) || has(b)) && has(c)", "((a Exists | b Exists) & c Exists)"},
		{"not binds most", "!a == 'x' && has(b)", "(!a In x & b Exists)"},
		{"not twice is nothing", "!!has(a)", "a Exists"},
		{"not thrice is not", "! ! !has(a)", "!a Exists"},
		{"not of parentheses", "!(has(a) || all())", "!(a Exists | all)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, err := parseSelector(c.text, endpointLabels)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, e.write()); diff != "" {
				t.Errorf("expression (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSelectorError(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no operator", "a", "position 2: the selector ends where an operator is expected"},
		{"one equals sign", "a = 'x'", `position 3: "= 'x'" found where an operator is expected`},
		{"no value", "a ==", "position 5: the selector ends where a string in quotes is expected"},
		{"a value without quotes", "a == x", `position 6: "x" found where a string in quotes is expected`},
		{"a value that does not end", "a == 'x", "position 6: the string is not terminated"},
		{"a value that ends in the other quote", `a == 'x"`, "position 6: the string is not terminated"},
		{"a set without braces", "a in 'x'", `position 6: "'x'" found where { is expected`},
		{"a set that does not end", "a in {'x'", "position 10: the selector ends where } is expected"},
		{"a set without commas", "a in {'x' 'y'}", `position 11: "'y'}" found where } is expected`},
		{"a parenthesis that is not closed", "(has(a)", "position 8: the selector ends where ) is expected"},
		{"a parenthesis too many", "has(a))", `position 7: ")" found where &&, || or the end is expected`},
		{"nothing in parentheses", "()", `position 2: ")" found where a label is expected`},
		{"has of nothing", "has()", `position 5: ")" found where a label is expected`},
		{"a blank before the parenthesis of has", "has (a)", `position 5: "(a)" found where an operator is expected`},
		{"nothing behind an operator", "has(a) &&", "position 10: the selector ends where a label is expected"},
		{"one ampersand", "has(a) & has(b)", `position 8: "& has(b)" found where &&, || or the end is expected`},
		{"an operator and no label", "== 'x'", `position 1: "== 'x'" found where a label is expected`},
		{"a label in quotes", "'a' == 'x'", `position 1: "'a' == 'x'" found where a label is expected`},
		{"a label of Kubernetes' language", "a notin (x)", `position 9: "(x)" found where { is expected`},
		{"a second line", "has(a) &&\nhas(b)", `position 10: "\nhas(b)" found where a label is expected`},
		{"a long rest is cut", "has(a) has(bbbbbbbbbbbbbb)", `position 8: "has(bbbbbbbb..." found where &&, || or the end is expected`},
		{"a label that is too long", strings.Repeat("a", 513) + " == 'x'", "position 1: the label is longer than 512 characters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseSelector(c.text, endpointLabels)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseSelectorTooComplex(t *testing.T) {
	nested := func(depth int) string {
		return strings.Repeat("(", depth) + "has(a)" + strings.Repeat(")", depth)
	}
	if _, err := parseSelector(nested(maxDepth), endpointLabels); err != nil {
		t.Errorf("as deep as may be: %v", err)
	}
	if _, err := parseSelector(nested(maxDepth+1), endpointLabels); !errors.Is(err, errTooComplex) {
		t.Errorf("too deep: got %v", err)
	}
	side := strings.TrimSuffix(strings.Repeat("(has(a)) && ", maxConditions), "&& ")
	if _, err := parseSelector(side, endpointLabels); err != nil {
		t.Errorf("side by side is not deep: %v", err)
	}
	if _, err := parseSelector(side+" && has(b)", endpointLabels); !errors.Is(err, errTooComplex) {
		t.Errorf("a condition too many: got %v", err)
	}
	if _, err := parseSelector("a == '"+strings.Repeat("x", maxLength)+"'", endpointLabels); !errors.Is(err, errTooComplex) {
		t.Errorf("a text too long: got %v", err)
	}
}
