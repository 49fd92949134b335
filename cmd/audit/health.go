package main

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// lateAfter is after how many intervals a sweep that does not end, or does not
// begin, is taken for stuck.
const lateAfter = 3

// phase is what the process is doing.
type phase int

const (
	asks     phase = iota // for the lease, or about to begin
	shutOut               // the lease cannot be asked for
	standsBy              // somebody else leads
	sweeps
	pauses // between two sweeps
)

// health is what the process knows of itself.
type health struct {
	now  func() time.Time
	late time.Duration
	// unreached returns why the API server could not be reached when a process
	// that stands by last asked it, nil if it could.
	unreached func() error

	mu       sync.Mutex
	phase    phase
	due      time.Time // of the sweep that runs or is waited for
	ended    int       // sweeps that ended since the process last began to ask
	complete bool      // one of them was complete
}

// asking: whatever an earlier term of leading showed, it shows nothing of the next.
func (h *health) asking() {
	h.set(func() { h.phase, h.ended, h.complete = asks, 0, false })
}

func (h *health) shutOut()    { h.set(func() { h.phase = shutOut }) }
func (h *health) standingBy() { h.set(func() { h.phase = standsBy }) }
func (h *health) sweeping()   { h.set(func() { h.phase, h.due = sweeps, h.now() }) }

func (h *health) swept(complete bool) {
	h.set(func() { h.ended, h.complete = h.ended+1, h.complete || complete })
}

func (h *health) pausing(pause time.Duration) {
	h.set(func() { h.phase, h.due = pauses, h.now().Add(pause) })
}

func (h *health) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

// alive returns why the process cannot do its work any more and had better be
// started anew, nil if it can. A server that cannot be reached, a right that is
// missing and a rule that fails are no such reasons: another process would have
// no more luck.
func (h *health) alive() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	over := h.now().Sub(h.due)
	if over <= h.late {
		return nil
	}
	switch h.phase {
	case sweeps:
		return fmt.Errorf("a sweep has been running for %s", over.Round(time.Second))
	case pauses:
		return fmt.Errorf("a sweep has been overdue for %s", over.Round(time.Second))
	}
	return nil
}

// ready returns why the process has not shown yet that it can do what it is there
// for, nil if it has: as a leader by one complete sweep, which takes every right
// and every address that is needed; standing by, by reaching the API server.
// So a roll-out with a wrong role stops at its first pod.
//
// A leader stays ready when a later sweep is incomplete. That is a fact about the
// cluster, which log, report and metrics tell; were the pod taken out of its
// Service for it, nobody could fetch them just when they matter. Nor does the
// API server's being away for a while make it unready, since the next sweep
// will be the proof.
func (h *health) ready() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.phase == standsBy:
		if err := h.unreached(); err != nil {
			return fmt.Errorf("standing by, but %w", err)
		}
		return nil
	case h.complete:
		return nil
	case h.phase == asks:
		return errors.New("not begun yet")
	case h.phase == shutOut:
		return errors.New("the Lease cannot be asked for; the log says why")
	case h.ended == 0:
		return errors.New("the first sweep has not ended yet")
	}
	return errors.New("no sweep has been complete yet; the log says why")
}
