package kubetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func isDefinition(o object) bool { return o.resource.Resource == "customresourcedefinitions" }

// awaitUnserved waits until the kinds of deleted definitions are served no
// more: a client would be told of them a moment longer.
func (c *Cluster) awaitUnserved(ctx context.Context, definitions []object) error {
	if len(definitions) == 0 {
		return nil
	}
	return eventually(ctx, "wait for custom kinds to go", func(ctx context.Context) (bool, error) {
		served, err := c.deletable(ctx)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(served, func(kind schema.GroupVersionResource) bool {
			// A definition is named after the kind that it defines.
			return slices.ContainsFunc(definitions, func(o object) bool { return o.name == kind.GroupResource().String() })
		}), nil
	})
}

// eventually asks until the answer is yes. What cannot be asked, or does not
// come true in good time, is an error that begins with what.
func eventually(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		yes, err := ask(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if yes {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}
