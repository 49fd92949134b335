package hostsource

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

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
