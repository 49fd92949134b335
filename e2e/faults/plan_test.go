package faults

import (
	"math/rand/v2"
	"time"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// plan is one run: all that happens in it but the faults themselves.
type plan struct {
	Acts []act
	// Sweeps is how many sweeps have to see a violation before it is opened.
	Sweeps int
}

// act is one sweep and what comes before it.
type act struct {
	World world
	// Turn is what becomes of the world after the sweep has read it and before it
	// publishes; nil: nothing.
	Turn  *world        `json:",omitempty"`
	Later time.Duration // since the act before

	odds  kubetest.Odds
	slack float64
}

// newPlan draws a run: a clean sweep at most, some with faults, and clean ones at
// the end.
func newPlan(seed uint64) *plan {
	r := rand.New(rand.NewPCG(seed, 8))
	p := &plan{Sweeps: 1 + r.IntN(4)/3}
	w := newWorld(r)
	were := []world{w}
	turn := func() {
		// What was mended comes back, now and then.
		if w = w.turned(r); r.IntN(3) == 0 {
			w = were[r.IntN(len(were))]
		}
		were = append(were, w)
	}
	if r.IntN(2) == 0 {
		p.Acts = append(p.Acts, act{World: w})
	}
	for range 2 + r.IntN(2) {
		if len(p.Acts) > 0 && r.IntN(4) > 0 {
			turn()
		}
		a := act{World: w, Later: time.Duration(1+r.IntN(120)) * time.Minute}
		a.odds.Once = []float64{0, 0.02, 0.1, 0.3}[r.IntN(4)]
		a.odds.Always = []float64{0, 0, 0.01, 0.03, 0.1}[r.IntN(5)]
		a.slack = []float64{0, 0.1, 0.3, 0.7}[r.IntN(4)]
		if r.IntN(5) == 0 {
			turn()
			turned := w
			a.Turn = &turned
		}
		p.Acts = append(p.Acts, a)
	}
	return p
}

// faults returns what picks the faults of the run, by a seed.
func (p *plan) faults(seed uint64) (func(kubetest.Step) kubetest.Fault, func(fakeslack.Step) fakeslack.Fault) {
	odds := func(n int) kubetest.Odds {
		if n >= len(p.Acts) {
			return kubetest.Odds{}
		}
		return p.Acts[n].odds
	}
	slack := func(n int) float64 {
		if n >= len(p.Acts) {
			return 0
		}
		return p.Acts[n].slack
	}
	return kubetest.Seeded(seed, odds), fakeslack.Seeded(seed, slack)
}
