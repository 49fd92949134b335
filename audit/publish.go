package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// Publisher keeps the findings of sweeps in a store.
type Publisher struct {
	Store  Store
	Source Rereader
	// Reconciliation says how findings live; its Now is that of the sweep.
	Reconciler Reconciler
	// Fit returns what the store can hold of a finding. What is judged is held
	// against what is stored in that form, or every sweep would find a change.
	// By default a finding is stored as it is.
	Fit func(Finding) Finding
	// Parallel is how many findings are written at once; 8 by default.
	Parallel int
	// Teller returns what tells owners after a sweep. Without it nobody is told.
	Notifier func(*Result) Notifier
	// DryRun stores nothing: the teller is given what would be stored.
	DryRun bool
}

// Teller tells owners of findings.
type Notifier interface {
	// Senders returns the names of those that tell an owner of the findings of a
	// rule, sorted; none of one who is not to be told.
	Senders(rule, owner string) []string
	// Deliver tells owners what is due of the findings, which are all that are
	// stored, by ID, and returns what became of it, by sender, owner and result.
	Deliver(ctx context.Context, stored []Stored) []Delivery
}

// Published is what became of the findings of one sweep.
type Published struct {
	Transitions []Transition // by ID
	Dropped     []string     // that did not survive a second look, by ID
	Newer       []string     // that a newer program wrote, left alone
	Failed      []string     // that could not be written, with the reason
	// Deliveries are the messages to owners, by sender, owner and result.
	Deliveries []Delivery
}

// publish brings what is stored in line with what was swept. It is to be called
// by one publisher at a time; where two are at it all the same, each finding is
// still created once and no write is lost, since a conflict is decided again.
func (p *Publisher) publish(turn lease, s *swept, res *Result) (*Published, error) {
	ctx, stored, newer := turn.held, turn.stored, turn.newer
	r := p.Reconciler
	r.Now = res.Started
	var teller Notifier
	if p.Notifier != nil {
		teller = p.Notifier(res)
		r.Senders = teller.Senders
	}
	records := make([]Record, len(stored))
	versions := make(map[string]Stored, len(stored))
	for i, st := range stored {
		records[i], versions[st.ID] = st.Record, st
	}
	p.fit(&s.evaluation)
	final, ev := r.Reconcile(records, &s.evaluation), &s.evaluation
	out := &Published{Newer: newer}
	if about := needConfirmation(final); len(about) > 0 {
		confirmed, err := s.confirm(ctx, p.Source, about)
		if err != nil {
			s.watch.end(PhaseConfirm)
			return nil, fmt.Errorf("confirm findings: %w", err)
		}
		// What could not be looked at again is as unknown as what could not be read.
		res.Problems = slices.Concat(res.Problems, confirmed.Problems)
		out.Dropped = confirmed.Dropped
		ev = &confirmed.Evaluation
		p.fit(ev)
		final = r.Reconcile(records, ev)
	}
	s.watch.end(PhaseConfirm)
	// What a newer program wrote looks as if it were not stored.
	final = slices.DeleteFunc(final, func(t Transition) bool { return slices.Contains(newer, t.Record.ID) })
	for i := range final {
		if t := &final[i]; versions[t.Record.ID].Stale && !t.Delete {
			t.Write = true
		}
	}
	out.Transitions = final
	if p.DryRun {
		applyToVersions(final, versions)
	} else {
		out.Failed = p.write(ctx, r, final, versions, ev)
	}
	s.watch.end(PhaseStore)
	if teller != nil && ctx.Err() == nil {
		out.Deliveries = teller.Deliver(ctx, sorted(versions))
		s.watch.end(PhaseDeliver)
	}
	return out, context.Cause(ctx)
}

// pretend leaves in versions what would be stored.
func applyToVersions(all []Transition, versions map[string]Stored) {
	for _, t := range all {
		if t.Delete {
			delete(versions, t.Record.ID)
			continue
		}
		held := versions[t.Record.ID]
		held.Record = t.Record
		versions[t.Record.ID] = held
	}
}

// sorted returns what is stored, by ID.
func sorted(versions map[string]Stored) []Stored {
	out := make([]Stored, 0, len(versions))
	for _, id := range slices.Sorted(maps.Keys(versions)) {
		out = append(out, versions[id])
	}
	return out
}

func (p *Publisher) fit(ev *Evaluation) {
	if p.Fit == nil {
		return
	}
	ev.Findings = slices.Clone(ev.Findings)
	for i, f := range ev.Findings {
		ev.Findings[i] = p.Fit(f)
	}
}

// turning returns the transitions that turn.
func needConfirmation(all []Transition) []Transition {
	var out []Transition
	for _, t := range all {
		if t.needsConfirmation() {
			out = append(out, t)
		}
	}
	return out
}

// turns reports whether a transition opens a finding, ends it or changes what it
// says, on the word of one list. Somebody who read later may have stored a change
// that this one does not know of, and that it would take back.
func (t Transition) needsConfirmation() bool {
	switch t.Why {
	case ReasonOpened, ReasonReopened, ReasonChanged, ReasonPending, ReasonResolved, ReasonGone:
		return true
	}
	return false
}
