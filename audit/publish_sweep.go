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
	judge      func(*snapshot.Snapshot) Evaluation
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
	// Acquire waits for the lock. The context that it returns ends as soon as
	// the lock is lost; release gives it back and must be called.
	Acquire(ctx context.Context) (held context.Context, release func(), err error)
}

// SweepAndPublish sweeps, looks again at what is about to be opened or resolved,
// and brings what is stored in line. The result holds the findings that survived
// the second look, in their stored state; what stood in its way is a problem.
// Reading and judging need no lock: it is held while findings are loaded and
// written, and no longer.
func SweepAndPublish(ctx context.Context, src Source, set []*rules.Rule, c *config.Config, clock func() time.Time,
	p *Publisher, lock Lock,
) (*Result, *Published, error) {
	res, s, err := sweep(ctx, &Previous{}, src, set, c, clock)
	if err != nil {
		return nil, nil, err
	}
	// Also of what fails it is told how long it took.
	defer func() { res.Phases = s.watch.phases }()
	held, release, err := lock.Acquire(ctx)
	s.watch.end(PhaseWait)
	if err != nil {
		return res, nil, fmt.Errorf("publish: %w", err)
	}
	defer release()
	published, err := p.publish(held, s, res)
	if err != nil {
		return res, published, fmt.Errorf("publish: %w", err)
	}
	res.Findings, res.Deliveries = published.findings(), published.Deliveries
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
