package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// write carries the transitions out, several at a time, and returns what could
// not be written.
func (p *Publisher) write(ctx context.Context, all []Transition, versions map[string]Stored, ev *Evaluation) []string {
	var mu sync.Mutex
	var failed []string
	var wait sync.WaitGroup
	slots := make(chan struct{}, cmp.Or(p.Parallel, 8))
	for _, t := range all {
		if !t.Write && !t.Delete {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := p.writeOne(ctx, t, versions[t.Record.ID], ev); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, fmt.Sprintf("%s: %v", t.Record.ID, err))
			}
		})
	}
	wait.Wait()
	slices.SortFunc(failed, strings.Compare)
	return failed
}

// maxDecisions is how often one finding is decided again after somebody else
// changed it.
const maxDecisions = 5

// writeOne carries one transition out. Where somebody else was there first it
// looks at what they left and decides again; nothing of theirs is overwritten.
func (p *Publisher) writeOne(ctx context.Context, t Transition, held Stored, ev *Evaluation) error {
	for range maxDecisions {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		err := p.attempt(ctx, t, held)
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrStored) && !errors.Is(err, ErrNotStored) {
			return err
		}
		held, err = p.Store.Get(ctx, t.Record.ID)
		var records []Record
		switch {
		case err == nil:
			records = []Record{held.Record}
		case !errors.Is(err, ErrNotStored):
			return err
		}
		i := -1
		again := p.Reconciliation.Reconcile(records, ev)
		for j := range again {
			if again[j].Record.ID == t.Record.ID {
				i = j
			}
		}
		if i < 0 {
			return nil
		}
		t = again[i]
		if !t.Write && !t.Delete {
			return nil
		}
	}
	return fmt.Errorf("decide on it %d times: %w", maxDecisions, ErrConflict)
}

func (p *Publisher) attempt(ctx context.Context, t Transition, held Stored) error {
	switch {
	case t.Delete:
		return p.Store.Delete(ctx, held)
	case t.New:
		_, err := p.Store.Create(ctx, t.Record)
		return err
	}
	held.Record = t.Record
	_, err := p.Store.Update(ctx, held)
	return err
}
