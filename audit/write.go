package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// maxDecisions is how often one finding is decided again after a conflict.
const maxDecisions = 5

// writer carries out the transitions of one sweep. Where another publisher was first,
// it reads what that one wrote, looks at the cluster again and decides again. It
// overwrites nothing.
type writer struct {
	*Publisher
	reconciler  Reconciler
	swept       *swept
	evaluation  *Evaluation
	transitions []Transition // left as they were finally decided
	// versions is what is stored, as far as is known, by ID. A finding that could not
	// be written is not in it.
	versions map[string]Stored

	failed   []Failure // what could not be written, by ID
	dropped  []string  // not confirmed after a conflict, by ID
	problems []Problem // what prevented confirmations
}

// attempt is one transition on its way to the store.
type attempt struct {
	*Transition
	held Stored // what the transition replaces, then what is stored; no version: nothing
	err  error
}

// write carries out the transitions, several at a time.
func (w *writer) write(ctx context.Context) {
	var left []*attempt
	for i := range w.transitions {
		if t := &w.transitions[i]; t.Write || t.Delete {
			left = append(left, &attempt{Transition: t, held: w.versions[t.Record.ID]})
		}
	}
	for range maxDecisions {
		w.each(left, func(a *attempt) {
			if a.err = context.Cause(ctx); a.err == nil {
				a.held, a.err = w.store(ctx, *a.Transition, a.held)
			}
		})
		if left = w.settle(left); len(left) == 0 {
			break
		}
		left = w.decideAgain(ctx, left)
	}
	for _, a := range left {
		w.fail(a, fmt.Errorf("decided %d times: %w", maxDecisions, ErrConflict))
	}
	slices.SortFunc(w.failed, func(a, b Failure) int { return cmp.Compare(a.Where, b.Where) })
	slices.Sort(w.dropped)
}

func (w *writer) each(all []*attempt, f func(*attempt)) {
	var group errgroup.Group
	group.SetLimit(cmp.Or(w.Parallel, 8))
	for _, a := range all {
		group.Go(func() error { f(a); return nil })
	}
	_ = group.Wait() // each error is in its attempt
}

// store carries out one transition, and returns what is stored then.
func (w *writer) store(ctx context.Context, t Transition, held Stored) (Stored, error) {
	switch {
	case t.Delete:
		return Stored{}, w.Store.Delete(ctx, held)
	case t.New:
		return w.Store.Create(ctx, t.Record)
	}
	held.Record = t.Record
	return w.Store.Update(ctx, held)
}

// settle records what was carried out and what failed, and returns the conflicts.
func (w *writer) settle(all []*attempt) (conflicts []*attempt) {
	for _, a := range all {
		switch {
		case a.err == nil:
			w.keep(a)
		case errors.Is(a.err, ErrConflict), errors.Is(a.err, ErrStored), errors.Is(a.err, ErrNotStored):
			conflicts = append(conflicts, a)
		default:
			w.fail(a, a.err)
		}
	}
	return conflicts
}

// keep records what is stored now.
func (w *writer) keep(a *attempt) {
	if a.held.Version == "" {
		delete(w.versions, a.Record.ID)
	} else {
		w.versions[a.Record.ID] = a.held
	}
}

func (w *writer) fail(a *attempt, err error) {
	a.Unwritten = true
	delete(w.versions, a.Record.ID)
	w.failed = append(w.failed, Failure{StageStore, a.Record.ID, err.Error()})
}

// decideAgain decides on findings that another publisher has changed, created or
// deleted, and returns those that are still to be written. The other publisher may have
// seen the cluster later than this sweep did: what would open a finding, end it or
// change what it says is confirmed by reading its objects again, after the finding
// itself.
func (w *writer) decideAgain(ctx context.Context, conflicts []*attempt) (left []*attempt) {
	w.each(conflicts, func(a *attempt) { a.held, a.err = w.Store.Get(ctx, a.Record.ID) })
	var doubtful []*attempt
	for _, a := range conflicts {
		switch {
		case errors.Is(a.err, ErrNotStored):
			a.held = Stored{}
		case a.err != nil:
			w.fail(a, a.err)
			continue
		}
		w.decide(a, w.evaluation)
		switch {
		case a.needsConfirmation():
			doubtful = append(doubtful, a)
		case a.Write || a.Delete:
			left = append(left, a)
		default:
			w.keep(a)
		}
	}
	if len(doubtful) == 0 {
		return left
	}
	about := make([]Transition, len(doubtful))
	for i, a := range doubtful {
		about[i] = *a.Transition
	}
	confirmed, err := w.swept.confirm(ctx, w.Source, about)
	if err != nil {
		for _, a := range doubtful {
			w.fail(a, fmt.Errorf("confirm: %w", err))
		}
		return left
	}
	w.problems = append(w.problems, confirmed.Problems...)
	w.dropped = append(w.dropped, confirmed.Dropped...)
	w.fit(&confirmed.Evaluation)
	for _, a := range doubtful {
		w.decide(a, &confirmed.Evaluation)
		if a.Write || a.Delete && a.held.Version != "" {
			left = append(left, a)
		} else {
			w.keep(a)
		}
	}
	return left
}

// decide decides on one finding by what is stored of it now. It leaves the others out,
// since all of them would look new. Whether there is a storm is already known.
func (w *writer) decide(a *attempt, ev *Evaluation) {
	one := *ev
	one.Findings = slices.DeleteFunc(slices.Clone(ev.Findings), func(f Finding) bool { return f.ID != a.Record.ID })
	var records []Record
	if a.held.Version != "" {
		records = []Record{a.held.Record}
	}
	decided := w.reconciler.Reconcile(records, &one)
	if len(decided) == 0 {
		*a.Transition = Transition{Record: a.Record, Why: ReasonGone, Delete: true}
		return
	}
	storm := a.Record.Storm
	*a.Transition = decided[0]
	if a.isNewToOwners() {
		a.Record.Storm = storm
	}
}
