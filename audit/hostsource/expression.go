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

// Equal reports whether two expressions are spelled alike.
func (e Expression) Equal(o Expression) bool { return e.text == o.text && e.IsZero() == o.IsZero() }

// errNone is an expression that is the zero value.
var errNoExpression = errors.New("no expression")

// Eval returns what the expression yields for an object, in its order. Its error
// is on one line and says nothing but the reason, or is the cause of the context
// where that has ended.
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

// fits reports whether a value of the type can be hosts. Of a dynamic one only
// the value itself tells.
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

// variable is the one variable of an expression: the whole object.
const variable = "object"

// newEnvironment returns what an expression can use. It is the same for all, and
// made anew for each so that nothing is shared.
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

// The limits of one evaluation. Whoever may create an object chooses what the
// expression runs over, and must not hold up the sweep by that.
const (
	// maxCost is what an evaluation may cost, in the units of CEL: an ordinary
	// object costs some dozens. The library's bookkeeping takes time with the
	// square of it, so that this much is some hundredths of a second.
	maxCost = 50_000
	// maxHosts is how many hosts an object may yield.
	maxHosts = 5_000
	// checkEvery is after how many steps of a loop an evaluation looks whether
	// the context has ended.
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

// readingCost is the cost of a function that reads a text once, as CEL reckons
// it for its own.
func readingCost(args []ref.Val, _ ref.Val) *uint64 {
	cost := uint64(1)
	if text, ok := args[0].(types.String); ok {
		cost += uint64(len(text)) / 10
	}
	return &cost
}

// hosts returns the strings that a value stands for.
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

// items returns the strings of a list. A null, and an optional without a value,
// is as good as no item.
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

// compileError says what is wrong with an expression and where, by its first
// mistake: those behind it often come from that one.
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

// typeName names a type for people.
func typeName(t *cel.Type) string { return clean(cel.FormatCELType(t)) }

// longestMessage is the number of letters of a message or of a value in one.
const longestMessage = 160

// clean puts a text on one line of a bearable length. What does not print
// becomes a blank: parts of the text come from the config or from an object.
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
