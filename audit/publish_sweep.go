package audit

import (
	"context"
	"fmt"
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
	evaluate   func(*snapshot.Snapshot) Evaluation
	watch      *stopwatch
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
	// Acquire waits for the lock. Each time it is about to take it, having seen that
	// nobody has it, it calls begin, which returns at once: after Acquire has
	// succeeded, nobody had the lock between the last such call and then. The context
	// that it returns ends as soon as the lock is lost; release gives it back and must
	// be called.
	Acquire(ctx context.Context, begin func()) (held context.Context, release func(), err error)
}

// SweepAndPublish sweeps, looks again at what is about to be opened or resolved,
// and brings what is stored in line. The result holds the findings that survived
// the second look, in their stored state; what stood in its way is a problem. Reading
// needs no lock, and it takes by far the longest: the lock is taken, and what is
// stored is loaded, while the facts are judged.
func SweepAndPublish(ctx context.Context, src Source, set []*rules.Rule, c *config.Config, clock func() time.Time,
	p *Publisher, lock Lock,
) (*Result, *Published, error) {
	coming := make(chan lease, 1)
	read := thenSource{src, func() {
		go func() { coming <- p.takeTurn(ctx, lock) }()
	}}
	res, s, err := sweep(ctx, read, set, c, clock, nil)
	if err != nil {
		return nil, nil, err
	}
	// Also of what fails it is told how long it took.
	defer func() { res.Phases = s.watch.phases }()
	t := <-coming
	defer t.release()
	s.watch.end(PhaseWait)
	if t.err != nil {
		return res, nil, fmt.Errorf("publish: %w", t.err)
	}
	published, err := p.publish(t, s, res)
	if err != nil {
		return res, published, fmt.Errorf("publish: %w", err)
	}
	res.Findings, res.Deliveries = published.findings(), published.Deliveries
	res.Finished = clock()
	return res, published, nil
}

// thenSource is a source that says when it was read.
type thenSource struct {
	Source
	read func()
}

func (s thenSource) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (Reading, error) {
	reading, err := s.Source.Read(ctx, kinds, b)
	if err == nil {
		s.read()
	}
	return reading, err
}

// turn is a lock that is held, and what is stored in the meantime.
type lease struct {
	held    context.Context
	release func() // to be called even with an error
	stored  []Stored
	newer   []string
	err     error
}

// takeTurn takes the lock and loads what is stored. The two are done side by side:
// whoever takes the lock writes, which takes a server some time.
func (p *Publisher) takeTurn(ctx context.Context, lock Lock) lease {
	l := loading{store: p.Store}
	defer l.drop()
	held, release, err := lock.Acquire(ctx, func() { l.begin(ctx) })
	if err != nil {
		return lease{release: func() {}, err: err}
	}
	t := lease{held: held, release: release}
	t.stored, t.newer, t.err = l.end(held)
	return t
}

// findings are those that are pending or open after publishing, sorted as in a
// Result.
func (p *Published) findings() []Finding {
	ev := Evaluation{}
	for _, t := range p.Transitions {
		if !t.Delete && t.Record.State != StateResolved {
			ev.Findings = append(ev.Findings, t.Record.Finding)
		}
	}
	ev.sort()
	return ev.Findings
}
