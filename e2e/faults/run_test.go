package faults

import (
	"testing"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// mostClean is how many clean sweeps it may take at most until there is nothing to
// do any more: some may have to see a violation before it is opened.
const mostClean = 6

// run plays a plan with given faults, and holds what comes of it against the laws.
func (l *lab) run(t *testing.T, p *plan, faults func(kubetest.Step) kubetest.Fault, slackFaults func(fakeslack.Step) fakeslack.Fault, sum *totals) {
	t.Helper()
	l.clear(t)
	s := &stage{lab: l, plan: p, clock: newClock(), slack: fakeslack.NewScript(slackFaults)}
	s.script = kubetest.NewScript(faults, mayStale(func() bool { return s.publishing.Load() }))
	s.board = newBoard(t, s.slack)
	s.proxy = l.cluster.StartProxy(t, s.script.Decide)
	h := &history{plan: p, board: s.board}
	for n, a := range p.Acts {
		s.act = n
		l.turn(t, a.World)
		s.clock.pass(a.Later)
		h.add(t, s.sweep(t, a.Turn))
		// The next one would wait for it to run out.
		l.freeLease(t)
	}
	for n := 0; ; n++ {
		s.act = len(p.Acts) + n
		s.clock.pass(2 * time.Hour)
		last := s.sweep(t, nil)
		h.add(t, last)
		if holder := l.freeLease(t); holder != "" {
			t.Errorf("sweep %d: the lease is not given back by %s", s.act, holder)
		}
		if last.quiet() {
			break
		}
		if n == mostClean {
			t.Errorf("sweep %d: there is still something to do", s.act)
			break
		}
	}
	h.finish(t)
	sum.add(s, h)
	if t.Failed() {
		t.Logf("to be kept in testdata, with a line before it that says what went wrong:\n%s", s.text(t))
	}
}

// quiet reports whether a sweep changed nothing and told nobody anything.
func (s *swept) quiet() bool {
	if s.err != nil || len(s.published.Deliveries) > 0 || len(s.before) != len(s.after) {
		return false
	}
	for id, was := range s.before {
		if s.after[id].Version != was.Version {
			return false
		}
	}
	return true
}
