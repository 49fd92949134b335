package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Publisher keeps the findings of sweeps in a store.
type Publisher struct {
	Store Store
	// Source confirms what is about to change. Without it, as for manifests, which are read
	// once, the first reading counts.
	Source Rereader
	// Reconciler holds the settings by which findings open and resolve. Its Now is
	// set to that of the sweep.
	Reconciler Reconciler
	// Fit returns what the store can hold of a finding. Evaluated findings are
	// compared with stored ones in that form; otherwise every sweep would find a
	// change. By default a finding is stored as it is.
	Fit func(Finding) Finding
	// Parallel is how many findings are written at once; 8 by default.
	Parallel int
	// Notifier returns what notifies owners after a sweep. Without it no one is
	// notified.
	Notifier func(*Result) Notifier
	// DryRun stores nothing: the notifier gets what would be stored.
	DryRun bool
}

// Notifier notifies owners of findings.
type Notifier interface {
	// Senders returns the names of the senders that notify an owner of the findings
	// of a rule, sorted; none for an owner who is not to be notified.
	Senders(rule, owner string) []string
	// Deliver sends owners the pending events of the findings, which are all that
	// are stored, sorted by ID. It returns the outcomes by sender, owner and result.
	Deliver(ctx context.Context, stored []Stored) []Delivery
}

// RenamedReaders is a Notifier that knows readers by where they are notified.
type RenamedReaders interface {
	// SameReader is that of Reconciler.
	SameReader(rule string, was Notification, owner string) bool
}

// Published is the outcome of publishing one sweep.
type Published struct {
	Transitions []Transition // by ID
	Dropped     []string     // not confirmed, by ID
	Newer       []string     // written by a newer program, and left alone
	Failed      []Failure    // could not be written, by ID
	// Deliveries are the messages to owners, by sender, owner and result.
	Deliveries []Delivery
	// OverLimit says of which namespaces not every finding is stored one by one, by
	// namespace and rule, and NotStored is how many are not. A tenant can cause that for as
	// long as they like: it is no success, but does not make the sweep incomplete.
	OverLimit []Failure
	NotStored int
	// Problems are what else was not published as it should be, by stage and
	// Where. Each makes the sweep fail.
	Problems []Failure
}

// SweepAndPublish sweeps, confirms what is about to be opened or resolved, writes
// the changes to the store and notifies owners. The result holds the confirmed
// findings in their stored state; what prevented a confirmation is a problem.
// Reading takes by far the longest and needs no lock: the lock is acquired, and what
// is stored is loaded, while the rules are evaluated.
func SweepAndPublish(ctx context.Context, src Source, set []*rules.Rule, c *config.Config, clock func() time.Time,
	p *Publisher, lock Lock,
) (*Result, *Published, error) {
	locked := make(chan lease, 1)
	thenLock := thenSource{src, func() {
		go func() { locked <- acquire(ctx, lock, p.Store) }()
	}}
	res, s, err := sweep(ctx, thenLock, set, c, clock, nil)
	if err != nil {
		return nil, nil, err
	}
	// A phase that fails has a duration too.
	defer func() { res.Phases = s.watch.phases }()
	l := <-locked
	defer l.release()
	s.watch.end(PhaseWait)
	if l.err != nil {
		return res, nil, res.unpublished(l.err)
	}
	published, err := p.publish(l, s, res)
	if published != nil {
		res.Unpublished, res.Deliveries = slices.Concat(published.Failed, published.OverLimit, published.Problems), published.Deliveries
	}
	if err != nil {
		return res, published, res.unpublished(err)
	}
	res.Findings = published.findings()
	res.Finished = clock()
	return res, published, nil
}

// unpublished adds the error that ended the publishing, and returns it.
func (r *Result) unpublished(err error) error {
	r.Unpublished = append([]Failure{{StagePublish, "findings", err.Error()}}, r.Unpublished...)
	return fmt.Errorf("publish: %w", err)
}

// thenSource is a source that calls then once it was read.
type thenSource struct {
	Source
	then func()
}

func (s thenSource) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (Reading, error) {
	reading, err := s.Source.Read(ctx, kinds, b)
	if err == nil {
		s.then()
	}
	return reading, err
}

// findings returns those that are pending or open after publishing, sorted as in a
// Result.
func (p *Published) findings() []Finding {
	ev := Evaluation{}
	for _, t := range p.Transitions {
		if !t.Delete && t.Why != ReasonKept && t.Record.State != StateResolved {
			ev.Findings = append(ev.Findings, t.current())
		}
	}
	ev.sort()
	return ev.Findings
}

// publish reconciles what is stored with a sweep: it confirms what is about to
// change, writes, and notifies owners. One publisher at a time should call it. If
// two do, each finding is still created once and no write is lost, because a write
// that conflicts is decided again.
func (p *Publisher) publish(l lease, s *swept, res *Result) (*Published, error) {
	ctx := l.held
	r := p.Reconciler
	r.Now, r.Clock, r.Fallback = res.Started, s.watch.began, cmp.Or(r.Fallback, s.fallback)
	var notifier Notifier
	if p.Notifier != nil {
		notifier = p.Notifier(res)
		r.Senders = notifier.Senders
		if readers, ok := notifier.(RenamedReaders); ok {
			r.SameReader = readers.SameReader
		}
	}
	definer, defined := p.Store.(Definer)
	if defined && len(definer.Missing(ctx)) > 0 && !definer.CanNotify() {
		notifier, r.Senders = nil, nil
	}
	records := make([]Record, len(l.stored))
	versions := make(map[string]Stored, len(l.stored))
	for i, st := range l.stored {
		records[i], versions[st.ID] = st.Record, st
	}
	ev, overLimit, notStored := r.limit(records, &s.evaluation)
	p.fit(ev)
	transitions := r.Reconcile(records, ev)
	out := &Published{Newer: l.newer}
	defer func() { out.OverLimit, out.NotStored = overLimit, notStored }()
	if doubtful := needConfirmation(transitions); p.Source != nil && len(doubtful) > 0 {
		confirmed, err := s.confirm(ctx, p.Source, doubtful)
		if err != nil {
			s.watch.end(PhaseConfirm)
			return nil, fmt.Errorf("confirm findings: %w", err)
		}
		// What could not be read again is as unknown as what could not be read.
		res.Problems = slices.Concat(res.Problems, confirmed.Problems)
		out.Dropped = confirmed.Dropped
		ev, overLimit, notStored = r.limit(records, &confirmed.Evaluation)
		p.fit(ev)
		transitions = r.Reconcile(records, ev)
	}
	s.watch.end(PhaseConfirm)
	// Findings that a newer program wrote look as if they were not stored.
	transitions = slices.DeleteFunc(transitions, func(t Transition) bool { return slices.Contains(l.newer, t.Record.ID) })
	for i := range transitions {
		if t := &transitions[i]; versions[t.Record.ID].Stale && !t.Delete {
			t.Write = true
		}
	}
	out.Transitions = transitions
	if p.DryRun {
		applyToVersions(transitions, versions)
	} else {
		w := writer{Publisher: p, reconciler: r, swept: s, evaluation: ev, transitions: transitions, versions: versions}
		w.write(ctx)
		out.Failed, out.Dropped = w.failed, append(out.Dropped, w.dropped...)
		slices.Sort(out.Dropped)
		out.Dropped = slices.Compact(out.Dropped)
		for _, problem := range w.problems {
			if !slices.Contains(res.Problems, problem) {
				res.Problems = append(res.Problems, problem)
			}
		}
	}
	out.Problems = overflowProblems(transitions, r.Fallback)
	s.watch.end(PhaseStore)
	if notifier != nil && ctx.Err() == nil {
		out.Deliveries = notifier.Deliver(ctx, sorted(versions))
		s.watch.end(PhaseDeliver)
	}
	if defined {
		if missing := definer.Dropped(); len(missing) > 0 {
			out.Problems = slices.Insert(out.Problems, 0, definitionProblem(missing, definer.CanNotify()))
		}
	}
	return out, context.Cause(ctx)
}

// needConfirmation returns the transitions that need confirmation.
func needConfirmation(all []Transition) []Transition {
	var out []Transition
	for _, t := range all {
		if t.needsConfirmation() {
			out = append(out, t)
		}
	}
	return out
}

func (p *Publisher) fit(ev *Evaluation) {
	if p.Fit == nil {
		return
	}
	ev.Findings = slices.Clone(ev.Findings)
	for i, f := range ev.Findings {
		f.Objects = ev.Churn[f.ID].weighed(f.Objects)
		ev.Findings[i] = p.Fit(f)
		slices.SortStableFunc(ev.Findings[i].Objects, rules.CompareObjects)
	}
}

// applyToVersions leaves in versions what would be stored.
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

// OwnersNotNotified counts the owners who are not notified because a finding has too
// many, by the transitions of a sweep.
func (p *Published) OwnersNotNotified() int {
	n := 0
	for _, t := range p.Transitions {
		n += t.unnotified()
	}
	return n
}
