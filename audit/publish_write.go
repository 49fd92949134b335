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

// write carries the transitions out, several at a time, leaves in versions what is
// stored then, and returns what could not be written. Where somebody else was
// first, a transition is left as it was decided in the end.
func (p *Publisher) write(ctx context.Context, r Reconciler, all []Transition, versions map[string]Stored, ev *Evaluation) []string {
	var mu sync.Mutex
	var failed []string
	var wait sync.WaitGroup
	slots := make(chan struct{}, cmp.Or(p.Parallel, 8))
	for i, t := range all {
		if !t.Write && !t.Delete {
			continue
		}
		mu.Lock()
		held := versions[t.Record.ID]
		mu.Unlock()
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			done, now, err := p.writeOne(ctx, r, t, held, ev)
			done.Unwritten = err != nil
			all[i] = done
			mu.Lock()
			defer mu.Unlock()
			if versions[t.Record.ID] = now; now.Version == "" {
				delete(versions, t.Record.ID)
			}
			if err != nil {
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

// writeOne carries one transition out, and returns what was carried out and what is
// stored of it as far as is known: nothing with an error. Where somebody else was
// there first it looks at what they left and decides again; nothing of theirs is
// overwritten.
func (p *Publisher) writeOne(ctx context.Context, r Reconciler, t Transition, held Stored, ev *Evaluation) (Transition, Stored, error) {
	for range maxDecisions {
		if err := context.Cause(ctx); err != nil {
			return t, Stored{}, err
		}
		now, err := p.attempt(ctx, t, held)
		if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrStored) && !errors.Is(err, ErrNotStored) {
			return t, now, err
		}
		held, err = p.Store.Get(ctx, t.Record.ID)
		var records []Record
		switch {
		case err == nil:
			records = []Record{held.Record}
		case !errors.Is(err, ErrNotStored):
			return t, Stored{}, err
		}
		if t = again(r, t, records, ev); !t.Write && !t.Delete || len(records) == 0 && t.Delete {
			return t, held, nil
		}
	}
	return t, Stored{}, fmt.Errorf("decide on it %d times: %w", maxDecisions, ErrConflict)
}

// again decides on a finding of which something else is stored now, or nothing. The
// others are left out: they would all look new. Whether there is a storm was known
// before.
func again(r Reconciler, t Transition, records []Record, ev *Evaluation) Transition {
	one := *ev
	one.Findings = slices.DeleteFunc(slices.Clone(ev.Findings), func(f Finding) bool { return f.ID != t.Record.ID })
	decided := r.Reconcile(records, &one)
	if len(decided) == 0 {
		return Transition{Record: t.Record, Why: ReasonGone, Delete: true}
	}
	now := decided[0]
	if now.isNewToOwners() {
		now.Record.Storm = t.Record.Storm
	}
	return now
}

func (p *Publisher) attempt(ctx context.Context, t Transition, held Stored) (Stored, error) {
	switch {
	case t.Delete:
		return Stored{}, p.Store.Delete(ctx, held)
	case t.New:
		return p.Store.Create(ctx, t.Record)
	}
	held.Record = t.Record
	return p.Store.Update(ctx, held)
}
