package hostsource

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// Expression is a compiled expression that yields the hosts of one object. The
// zero value is none. It may be used by several goroutines at once.
type Expression struct {
	text    string
	program cel.Program
}

// maxExpression is the number of bytes that an expression may have.
const maxExpression = 8 << 10

// Compile compiles an expression over the variable object, the whole object. It
// has to yield a list of strings, one string, or null. The error says where in
// the expression what is wrong; it is on one line.
func Compile(text string) (Expression, error) {
	switch {
	case strings.TrimSpace(text) == "":
		return Expression{}, errors.New("must not be empty: use an expression that returns the hosts of an object")
	case len(text) > maxExpression:
		return Expression{}, fmt.Errorf("is longer than %d KiB", maxExpression>>10)
	}
	env, err := newEnvironment()
	if err != nil {
		return Expression{}, err
	}
	// Else what is missing at the end would be missed on a line that is not
	// there.
	text = strings.TrimRight(text, " \t\r\n")
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return Expression{}, compileError(text, issues.Errors())
	}
	if yields := checked.OutputType(); !fits(yields) {
		return Expression{}, fmt.Errorf("returns %s, want a list of strings, a string or null", typeName(yields))
	}
	program, err := env.Program(checked, limits()...)
	if err != nil {
		return Expression{}, fmt.Errorf("cannot be run: %s", clean(err.Error()))
	}
	return Expression{text: text, program: program}, nil
}

// String returns the text of the expression.
func (e Expression) String() string { return e.text }

// IsZero reports whether there is no expression.
func (e Expression) IsZero() bool { return e.program == nil }

// Equal reports whether two expressions are spelled alike.
func (e Expression) Equal(o Expression) bool { return e.text == o.text && e.IsZero() == o.IsZero() }

// errNone is an expression that is the zero value.
var errNone = errors.New("no expression")

// Eval returns what the expression yields for an object, in its order. Its error
// is on one line and says nothing but the reason, or is the cause of the context
// where that has ended.
func (e Expression) Eval(ctx context.Context, object map[string]any) ([]string, error) {
	if e.IsZero() {
		return nil, errNone
	}
	value, _, err := e.program.ContextEval(ctx, map[string]any{variable: object})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		return nil, fmt.Errorf("the expression exceeds the CEL cost limit of %d", maxCost)
	case err != nil:
		return nil, errors.New(clean(err.Error()))
	}
	return hosts(value)
}

// fits reports whether a value of the type can be hosts. Of a dynamic one only
// the value itself tells.
func fits(t *cel.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.StringKind, types.NullTypeKind:
		return true
	case types.ListKind:
		return fitsItem(t.Parameters()[0])
	case types.OpaqueKind:
		return isOptional(t) && fits(t.Parameters()[0])
	}
	return false
}

func fitsItem(t *cel.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.StringKind, types.NullTypeKind, types.TypeParamKind:
		return true
	case types.OpaqueKind:
		return isOptional(t) && fitsItem(t.Parameters()[0])
	}
	return false
}

func isOptional(t *cel.Type) bool { return t.TypeName() == "optional_type" }
