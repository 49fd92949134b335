package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// swept is a sweep before anything is made of it.
type swept struct {
	snap       *snapshot.Snapshot
	set        []*rules.Rule
	evaluation Evaluation
	judge      func(*snapshot.Snapshot) Evaluation
}

func (s *swept) rule(name string) *rules.Rule {
	for _, r := range s.set {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Lock lets one publisher work at a time.
type Lock interface {
	// Acquire waits for the lock. The context that it returns ends as soon as
	// the lock is lost; release gives it back and must be called.
	Acquire(ctx context.Context) (held context.Context, release func(), err error)
}

// SweepAndPublish sweeps, looks again at what is about to be opened or resolved,
// and brings what is stored in line. The result holds the findings that survived
// the second look, in their stored state. Reading and judging need no lock:
// it is held while findings are loaded and written, and no longer.
func SweepAndPublish(ctx context.Context, src Source, set []*rules.Rule, c *config.Config, clock func() time.Time,
	p *Publisher, lock Lock,
) (*Result, *Published, error) {
	res, s, err := sweep(ctx, &Previous{}, src, set, c, clock)
	if err != nil {
		return nil, nil, err
	}
	held, release, err := lock.Acquire(ctx)
	if err != nil {
		return res, nil, fmt.Errorf("publish: %w", err)
	}
	defer release()
	p.Reconciliation.Now = res.Started
	published, err := p.publish(held, s)
	if err != nil {
		return res, published, fmt.Errorf("publish: %w", err)
	}
	res.Findings = published.findings()
	res.Finished = clock()
	return res, published, nil
}

// findings are those that are pending or open after publishing, sorted as in a
// Result.
func (p *Published) findings() []Finding {
	ev := Evaluation{}
	for _, t := range p.Transitions {
		if !t.Delete && t.Record.State != Resolved {
			ev.Findings = append(ev.Findings, t.Record.Finding)
		}
	}
	ev.sort()
	return ev.Findings
}

// Publisher keeps the findings of sweeps in a store.
type Publisher struct {
	Store  Store
	Source Rereader
	// Reconciliation says how findings live; its Now is that of the sweep.
	Reconciliation Reconciliation
	// Fit returns what the store can hold of a finding. What is judged is held
	// against what is stored in that form, or every sweep would find a change.
	// By default a finding is stored as it is.
	Fit func(Finding) Finding
	// Parallel is how many findings are written at once; 8 by default.
	Parallel int
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
func (p *Publisher) publish(ctx context.Context, s *swept) (*Published, error) {
	stored, newer, err := p.Store.Load(ctx)
	if err != nil {
		return nil, err
	}
	records := make([]Record, len(stored))
	versions := make(map[string]Stored, len(stored))
	for i, st := range stored {
		records[i], versions[st.ID] = st.Record, st
	}
	p.fit(&s.evaluation)
	about := slices.DeleteFunc(p.Reconciliation.Reconcile(records, &s.evaluation), func(t Transition) bool { return !t.turns() })
	confirmed, err := s.confirm(ctx, p.Source, about)
	if err != nil {
		return nil, fmt.Errorf("confirm findings: %w", err)
	}
	p.fit(&confirmed.Evaluation)
	final := p.Reconciliation.Reconcile(records, &confirmed.Evaluation)
	// What a newer program wrote looks as if it were not stored.
	final = slices.DeleteFunc(final, func(t Transition) bool { return slices.Contains(newer, t.Record.ID) })
	for i := range final {
		if t := &final[i]; versions[t.Record.ID].Stale && !t.Delete {
			t.Write = true
		}
	}
	out := &Published{Transitions: final, Dropped: confirmed.Dropped, Newer: newer}
	out.Failed = p.write(ctx, final, versions, &confirmed.Evaluation)
	return out, context.Cause(ctx)
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

// turns reports whether a transition opens a finding, ends it or changes what it
// says, on the word of one list. Somebody who read later may have stored a change
// that this one does not know of, and that it would take back.
func (t Transition) turns() bool {
	switch t.Why {
	case Opened, Reopened, Changed, Waiting, Mended, Gone:
		return true
	}
	return false
}
