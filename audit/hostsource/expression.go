package hostsource

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

// Expression is a compiled expression that returns the hosts of one object. The zero
// value is none. It is safe for concurrent use.
type Expression struct {
	text    string
	program cel.Program
}

// maxExpression is the maximum size of an expression in bytes.
const maxExpression = 8 << 10

// Compile compiles an expression over the variable object, which is the whole
// object. It must return a list of strings, a string, or null. The error says where
// in the expression the mistake is; it is a single line.
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
	// Otherwise an error at the end could be reported on a line that does not exist.
	text = strings.TrimRight(text, " \t\r\n")
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return Expression{}, compileError(text, issues.Errors())
	}
	if yields := checked.OutputType(); !validOutput(yields) {
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

// Equal reports whether two expressions have the same text.
func (e Expression) Equal(o Expression) bool { return e.text == o.text && e.IsZero() == o.IsZero() }

// errNoExpression is the error of evaluating the zero value.
var errNoExpression = errors.New("no expression")

// Eval returns what the expression returns for an object, in its order. Its error is
// a single line with the reason, or the cause of the context if that has ended.
func (e Expression) Eval(ctx context.Context, object map[string]any) ([]string, error) {
	if e.IsZero() {
		return nil, errNoExpression
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

// variable is the only variable of an expression: the whole object.
const variable = "object"

// newEnvironment returns what an expression can use. It is the same for all
// expressions, and created for each so that nothing is shared.
func newEnvironment() (*cel.Env, error) {
	env, err := cel.NewEnv(
		cel.Variable(variable, cel.DynType),
		cel.OptionalTypes(),
		ext.Strings(),
		ext.Lists(),
		ext.Regex(),
		ext.Bindings(),
		ext.TwoVarComprehensions(),
		cel.Function(traefikFunction, cel.Overload(traefikOverload, []*cel.Type{cel.StringType},
			cel.ListType(cel.StringType), cel.UnaryBinding(callTraefikHosts))),
		cel.ParserRecursionLimit(64),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	return env, nil
}

// The limits of one evaluation. Anyone who can create an object chooses the input of
// the expression, and must not delay the sweep with it.
const (
	// maxCost is the maximum cost of an evaluation, in the units of CEL: an ordinary
	// object costs a few dozen. The time that the library takes for its bookkeeping
	// grows with the square of the cost; this much takes a few hundredths of a
	// second.
	maxCost = 50_000
	// maxHosts is how many hosts an object may have.
	maxHosts = 5_000
	// checkEvery is the number of steps of a loop after which an evaluation checks
	// whether the context has ended.
	checkEvery = 100
)

func limits() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize),
		cel.CostLimit(maxCost),
		cel.CostTrackerOptions(interpreter.OverloadCostTracker(traefikOverload, readingCost)),
		cel.InterruptCheckFrequency(checkEvery),
	}
}

// readingCost is the cost of a function that reads a text once, by the formula that
// CEL uses for its own.
func readingCost(args []ref.Val, _ ref.Val) *uint64 {
	cost := uint64(1)
	if text, ok := args[0].(types.String); ok {
		cost += uint64(len(text)) / 10
	}
	return &cost
}

// validOutput reports whether a value of the type can be hosts. For a dynamic type
// only the value shows.
func validOutput(t *cel.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.StringKind, types.NullTypeKind:
		return true
	case types.ListKind:
		return validItem(t.Parameters()[0])
	case types.OpaqueKind:
		return isOptional(t) && validOutput(t.Parameters()[0])
	}
	return false
}

func validItem(t *cel.Type) bool {
	switch t.Kind() {
	case types.DynKind, types.StringKind, types.NullTypeKind, types.TypeParamKind:
		return true
	case types.OpaqueKind:
		return isOptional(t) && validItem(t.Parameters()[0])
	}
	return false
}

func isOptional(t *cel.Type) bool { return t.TypeName() == "optional_type" }

// hosts returns the strings in a value.
func hosts(value ref.Val) ([]string, error) {
	switch v := value.(type) {
	case types.Null:
		return nil, nil
	case types.String:
		return []string{string(v)}, nil
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return hosts(v.GetValue())
	case traits.Lister:
		return items(v)
	}
	return nil, fmt.Errorf("the expression returns a value of type %s", clean(value.Type().TypeName()))
}

// items returns the strings of a list. A null, or an optional without a value, is
// skipped.
func items(list traits.Lister) ([]string, error) {
	if size, ok := list.Size().(types.Int); ok && size > maxHosts {
		return nil, fmt.Errorf("the object has more than %d hosts", maxHosts)
	}
	var out []string
	for i := list.Iterator(); i.HasNext() == types.True; {
		item := i.Next()
		if o, ok := item.(*types.Optional); ok {
			item = types.NullValue
			if o.HasValue() {
				item = o.GetValue()
			}
		}
		switch v := item.(type) {
		case types.String:
			out = append(out, string(v))
		case types.Null:
		default:
			return nil, fmt.Errorf("the expression returns a list with a value of type %s", clean(v.Type().TypeName()))
		}
	}
	return out, nil
}

// compileError returns the first mistake in an expression and its position: later
// ones are often consequences of it.
func compileError(text string, errs []*common.Error) error {
	first := errs[0]
	message := strings.TrimPrefix(first.Message, "Syntax error: ")
	message = strings.ReplaceAll(message, " (in container '')", "")
	if first.Location == nil || first.Location.Line() < 1 {
		return fmt.Errorf("does not compile: %s", clean(message))
	}
	where := fmt.Sprintf("column %d", first.Location.Column()+1)
	if strings.Contains(text, "\n") {
		where = fmt.Sprintf("line %d, %s", first.Location.Line(), where)
	}
	return fmt.Errorf("does not compile at %s: %s", where, clean(message))
}

// typeName formats a type for people.
func typeName(t *cel.Type) string { return clean(cel.FormatCELType(t)) }

// longestMessage is the maximum number of characters of a message, or of a value in
// one.
const longestMessage = 160

// clean reduces a text to one line of limited length. Characters that cannot be
// printed become blanks: parts of the text come from the config or from an object.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if letters := []rune(text); len(letters) > longestMessage {
		text = string(letters[:longestMessage-1]) + "…"
	}
	return text
}
