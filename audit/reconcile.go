package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
)

// Record is a finding with the life that is stored of it.
type Record struct {
	Finding
	Reason        Reason // why it is in its state
	Sweeps        int    // that saw it while it was pending
	OpenedAt      time.Time
	ResolvedAt    time.Time
	Reopened      int  // how often it came back
	Storm         bool // opened with more than owners should be told of one by one
	Notifications []Notification
}

// Reason is why a finding is in its state, or goes from one to another.
type Reason string

// The reasons of a transition.
const (
	ReasonPending     Reason = "pending"      // seen, and younger than its rule's "for"
	ReasonOpened      Reason = "opened"       // seen for the first time, or long enough
	ReasonConfirmed   Reason = "confirmed"    // seen again, and nothing changed
	ReasonChanged     Reason = "changed"      // seen again, and something of it changed
	ReasonReopened    Reason = "reopened"     // seen again after it was resolved
	ReasonResolved    Reason = "resolved"     // judged, and not there any more
	ReasonGone        Reason = "gone"         // not there any more before it was ever opened
	ReasonRuleRetired Reason = "rule-retired" // its rule, or the config, does not ask for it any more
	ReasonExcepted    Reason = "excepted"     // an exception of the config hides it
	ReasonCarriedOver Reason = "carried-over" // nothing is known of it: its rule did not run, or could not judge it
	ReasonKept        Reason = "kept"         // resolved, and not yet old enough to be deleted
	ReasonExpired     Reason = "expired"      // resolved for longer than it is kept
)

// Transition is what a sweep makes of one finding.
type Transition struct {
	Record Record // as it is to be stored
	Why    Reason
	// Write is true where what is stored has to change, Delete where it has to
	// go, New where nothing is stored yet.
	Write, Delete, New bool
	// Unwritten is true where what is stored did not change although it had to:
	// the write failed.
	Unwritten bool

	was []rules.Object // what a finding that changes rested on before
	// matters is true where what changed is more than the words it is told in, and
	// announces where somebody is to be told of a finding that was there before.
	significant, newToOwner bool
}

// Matters reports whether a finding that changed is more than told in other words.
func (t *Transition) Significant() bool { return t.significant }

// news reports whether owners hear of the finding as of a new one.
func (t *Transition) isNewToOwners() bool {
	return t.Why == ReasonOpened || t.Why == ReasonReopened || t.newToOwner
}

// Hold is how long a new violation is pending before it is opened.
type Hold = config.Hold

// Reconciliation is what Reconcile goes by.
type Reconciler struct {
	Now  time.Time
	Hold func(rule string) Hold
	Keep time.Duration // how long a resolved finding is kept
	// MaxNew is how many findings one sweep may open before it is a storm.
	MaxNew int
	// Tell returns the names of the senders that tell an owner of the findings of
	// a rule. Without it nobody is told anything.
	Senders func(rule, owner string) []string
	// MaxTold is of how many owners and senders a finding keeps what they were
	// told: more are told nothing. Zero is no limit.
	MaxNotifications int
}

// Reconcile holds what a sweep judged against what is stored, and says what
// becomes of each finding, sorted by ID. Absence of evidence resolves nothing:
// a finding whose rule did not run, or knows that it could not judge the
// subject, is carried over untouched.
func (r Reconciler) Reconcile(stored []Record, ev *Evaluation) []Transition {
	j := indexEvaluation(ev)
	var out []Transition
	known := map[string]bool{}
	for _, rec := range stored {
		known[rec.ID] = true
		out = append(out, r.stored(rec, j))
	}
	for _, f := range ev.Findings {
		if !known[f.ID] {
			out = append(out, r.first(f))
		}
	}
	for i := range out {
		r.setPending(&out[i])
	}
	r.markStorm(out)
	slices.SortFunc(out, func(a, b Transition) int { return cmp.Compare(a.Record.ID, b.Record.ID) })
	return out
}

// first says what becomes of a finding of which nothing is stored.
func (r Reconciler) first(f Finding) Transition {
	f.FirstSeen = r.Now
	t := r.hold(Record{Finding: f, Sweeps: 1}, ReasonOpened)
	t.New, t.Write = true, true
	return t
}

// hold keeps a finding pending for as long as its rule wants it to be, and opens
// it then.
func (r Reconciler) hold(rec Record, open Reason) Transition {
	h := r.Hold(rec.Rule)
	if rec.Sweeps < h.Sweeps || r.Now.Sub(rec.FirstSeen) < h.For {
		rec.State, rec.Reason = StatePending, ReasonPending
		return Transition{Record: rec, Why: ReasonPending, Write: true}
	}
	rec.State, rec.Reason, rec.Sweeps = StateOpen, open, 0
	rec.OpenedAt, rec.ResolvedAt = r.Now, time.Time{}
	return Transition{Record: rec, Why: open, Write: true}
}

// stored says what becomes of a finding that is stored.
func (r Reconciler) stored(rec Record, j *evaluated) Transition {
	f, found := j.findings[rec.ID]
	switch {
	case j.unknown(rec.Rule, rec.ID):
		return Transition{Record: rec, Why: ReasonCarriedOver}
	case found:
		return r.seen(rec, f)
	case rec.State == StateResolved:
		if r.Now.Sub(rec.ResolvedAt) > r.Keep {
			return Transition{Record: rec, Why: ReasonExpired, Delete: true}
		}
		return Transition{Record: rec, Why: ReasonKept}
	case j.mayPersist(rec):
		return Transition{Record: rec, Why: ReasonCarriedOver}
	}
	why := ReasonResolved
	switch {
	case j.retired(rec.Rule, rec.ID):
		why = ReasonRuleRetired
	case j.excepted[rec.ID]:
		why = ReasonExcepted
	}
	// What was never opened, nobody was told of: it leaves no trace.
	if rec.State == StatePending || rec.State == "" {
		return Transition{Record: rec, Why: ReasonGone, Delete: true}
	}
	rec.State, rec.Reason, rec.ResolvedAt = StateResolved, why, r.Now
	return Transition{Record: rec, Why: why, Write: true}
}

// seen says what becomes of a stored finding that was judged to be there.
func (r Reconciler) seen(rec Record, f Finding) Transition {
	was := rec
	f.FirstSeen, f.State = rec.FirstSeen, rec.State
	rec.Finding = f
	switch was.State {
	case "":
		// Whoever created it did not get to write its record.
		rec.FirstSeen, rec.Sweeps = r.Now, 1
		return r.hold(rec, ReasonOpened)
	case StatePending:
		rec.Sweeps++
		return r.hold(rec, ReasonOpened)
	case StateResolved:
		rec.FirstSeen, rec.Sweeps, rec.Storm = r.Now, 1, false
		rec.Reopened++
		return r.hold(rec, ReasonReopened)
	}
	if sameContent(was.Finding, f) {
		return Transition{Record: was, Why: ReasonConfirmed}
	}
	rec.Reason = ReasonChanged
	return Transition{Record: rec, Why: ReasonChanged, Write: true, was: was.Objects, significant: significantChange(was.Finding, f)}
}

// markStorm flags the findings that are new to owners, if they are too many.
func (r Reconciler) markStorm(all []Transition) {
	n := 0
	for i := range all {
		if all[i].isNewToOwners() {
			n++
		}
	}
	if r.MaxNew <= 0 || n <= r.MaxNew {
		return
	}
	for i := range all {
		if all[i].isNewToOwners() {
			all[i].Record.Storm = true
		}
	}
}
