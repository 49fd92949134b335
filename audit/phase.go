package audit

import "time"

// Phase is a part of a sweep, with how long it took.
type Phase struct {
	Name string // one of the Phase constants
	Took time.Duration
}

// The phases of a sweep, in their order. One that does not publish has the first
// two only.
const (
	PhaseRead     = "read"
	PhaseEvaluate = "evaluate"
	PhaseWait     = "wait"    // for the lock, and for what is stored, once all is judged
	PhaseConfirm  = "confirm" // what is about to be opened or resolved
	PhaseStore    = "store"
	PhaseDeliver  = "deliver" // only where owners are told
)

// stopwatch tells how long the phases of a sweep take. A nil one tells nothing.
type stopwatch struct {
	clock  func() time.Time
	began  time.Time // the phase that goes on
	phases []Phase
}

func newStopwatch(clock func() time.Time, now time.Time) *stopwatch {
	return &stopwatch{clock: clock, began: now}
}

// end ends a phase, and begins the next.
func (w *stopwatch) end(phase string) {
	if w == nil {
		return
	}
	now := w.clock()
	w.phases = append(w.phases, Phase{phase, now.Sub(w.began)})
	w.began = now
}
