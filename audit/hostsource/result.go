package hostsource

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

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
