package audit

import "context"

// loading loads what is stored while something else goes on. It is for one goroutine.
type loading struct {
	store  Store
	cancel context.CancelFunc // of what is on its way; nil where nothing is
	done   chan loaded
}

type loaded struct {
	stored []Stored
	newer  []string
	err    error
}

// begin begins to load, anew if it was begun before.
func (l *loading) begin(ctx context.Context) {
	l.drop()
	ctx, l.cancel = context.WithCancel(ctx)
	done := make(chan loaded, 1) // nobody has to receive it
	l.done = done
	go func() {
		var all loaded
		all.stored, all.newer, all.err = l.store.Load(ctx)
		done <- all
	}()
}

// end returns what was loaded since the last begin, or else loads it, but no longer
// than until the context ends.
func (l *loading) end(ctx context.Context) ([]Stored, []string, error) {
	if l.cancel == nil {
		l.begin(ctx)
	}
	select {
	case all := <-l.done:
		return all.stored, all.newer, all.err
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// drop gives up what is on its way.
func (l *loading) drop() {
	if l.cancel != nil {
		l.cancel()
	}
}
