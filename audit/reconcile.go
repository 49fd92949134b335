package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
)

// Hold is how long a new violation is pending before it is opened.
type Hold = config.Hold

// Reconciler holds the settings of Reconcile.
type Reconciler struct {
	Now time.Time // when the sweep started
	// Clock is the time at which what is stored was read; Now by default. Stored times
	// that are later come from a clock that is ahead.
	Clock time.Time
	Hold  func(rule string) Hold
	Keep  time.Duration // how long a resolved finding is kept
	// MaxNew is how many findings that one namespace caused a sweep may open before they
	// are a storm.
	MaxNew int
	// MaxStored is how many findings are stored of those that one namespace caused, apart
	// from one for each of their owners. Zero is no limit.
	MaxStored int
	// Senders returns the names of the senders that notify an owner of the findings
	// of a rule. Without it no one is notified.
	Senders func(rule, owner string) []string
	// SameReader reports whether an owner is notified where a former owner of a finding
	// was, because they are the same under another name. Nil: never.
	SameReader func(rule string, was Notification, owner string) bool
	// MaxNotifications is how many owners, and how many notifications, one for each
	// owner and sender, a finding keeps. Further owners are not notified, but the
	// fallback owner is, if there is one. Zero is no limit.
	MaxNotifications int
	Fallback         string
}

// Reconcile compares what a sweep evaluated with what is stored, and returns what
// becomes of each finding, sorted by ID. Absence of evidence resolves nothing: a
// finding whose rule did not run, or could not evaluate the subject, is carried over
// untouched.
func (r Reconciler) Reconcile(stored []Record, ev *Evaluation) []Transition {
	index := indexEvaluation(ev)
	var out []Transition
	known := map[string]bool{}
	for _, rec := range stored {
		known[rec.ID] = true
		rec, ahead := clampTimes(rec, r.clock())
		t := r.stored(rec, index)
		t.Write = t.Write || ahead && !t.Delete
		out = append(out, t)
	}
	for _, f := range ev.Findings {
		if !known[f.ID] {
			out = append(out, r.first(f))
		}
	}
	for i := range out {
		if r.SameReader != nil && r.Senders != nil && out[i].Why != ReasonCarriedOver {
			rename(&out[i].Record, r.SameReader)
		}
		setPending(&out[i], r.Senders, r.MaxNotifications, r.clock())
	}
	r.markStorms(out, ev)
	slices.SortFunc(out, func(a, b Transition) int { return cmp.Compare(a.Record.ID, b.Record.ID) })
	return out
}

func (r Reconciler) clock() time.Time {
	if r.Clock.After(r.Now) {
		return r.Clock
	}
	return r.Now
}

// first returns the transition of a finding that is not stored.
func (r Reconciler) first(f Finding) Transition {
	f.FirstSeen = r.Now
	overflow := r.keepOwners(&f, nil)
	t := r.hold(Record{Finding: f, Sweeps: 1}, ReasonOpened)
	t.New, t.Write, t.overflow = true, true, overflow
	return t
}

// remembered is how long a provisional finding that is gone stays pending, from when it
// was first seen: someone may delete and create an object again and again.
const remembered = time.Hour

// hold keeps a finding pending for as long as its rule asks, and a provisional one until
// a second sweep sees it, then opens it.
func (r Reconciler) hold(rec Record, open Reason) Transition {
	h := r.Hold(rec.Rule)
	if rec.Provisional && rec.Sweeps < 2 {
		rec.State, rec.Reason = StatePending, ReasonProvisional
		return Transition{Record: rec, Why: ReasonPending, Write: true}
	}
	if rec.Sweeps < h.Sweeps || r.Now.Sub(rec.FirstSeen) < h.For {
		rec.State, rec.Reason = StatePending, ReasonPending
		return Transition{Record: rec, Why: ReasonPending, Write: true}
	}
	rec.State, rec.Reason, rec.Sweeps = StateOpen, open, 0
	rec.OpenedAt, rec.ResolvedAt = r.Now, time.Time{}
	return Transition{Record: rec, Why: open, Write: true}
}

// stored returns the transition of a stored finding.
func (r Reconciler) stored(rec Record, index *evaluated) Transition {
	f, found := index.findings[rec.ID]
	switch {
	case index.unknown(rec.Rule, rec.ID):
		return Transition{Record: rec, Why: ReasonCarriedOver}
	case found:
		overflow := r.keepOwners(&f, rec.Owners)
		t := r.seen(rec, f, index.churn[rec.ID])
		t.overflow = overflow
		return t
	case rec.State == StateResolved:
		if r.Now.Sub(rec.ResolvedAt) > r.Keep || index.evicted[rec.ID] {
			return Transition{Record: rec, Why: ReasonExpired, Delete: true}
		}
		return Transition{Record: rec, Why: ReasonKept}
	case index.mayPersist(rec):
		return Transition{Record: rec, Why: ReasonCarriedOver}
	}
	why := ReasonResolved
	switch {
	case index.retired(rec.Rule, rec.ID):
		why = ReasonRuleRetired
	case index.excepted[rec.ID]:
		why = ReasonExcepted
	}
	// No one was notified of a finding that never opened: it leaves no trace.
	if rec.State == StatePending || rec.State == "" {
		if why == ReasonResolved && rec.Reason == ReasonProvisional && r.Now.Sub(rec.FirstSeen) < remembered {
			return Transition{Record: rec, Why: ReasonKept}
		}
		return Transition{Record: rec, Why: ReasonGone, Delete: true}
	}
	rec.State, rec.Reason, rec.ResolvedAt = StateResolved, why, r.Now
	return Transition{Record: rec, Why: why, Write: true}
}

// seen returns the transition of a stored finding that was found again.
func (r Reconciler) seen(rec Record, f Finding, churn Churn) Transition {
	was := rec
	f.FirstSeen, f.State = rec.FirstSeen, rec.State
	rec.Finding = f
	switch was.State {
	case "":
		// The publisher that created it was terminated before it wrote its record.
		rec.FirstSeen, rec.Sweeps = r.Now, 1
		return r.hold(rec, ReasonOpened)
	case StatePending:
		rec.Sweeps++
		return r.hold(rec, ReasonOpened)
	case StateResolved:
		rec.FirstSeen, rec.Sweeps, rec.Storm = r.Now, 1, false
		rec.Reopened++
		if r.Now.Sub(was.ResolvedAt) < remembered {
			rec.Provisional = false // earlier sweeps saw it
		}
		return r.hold(rec, ReasonReopened)
	}
	if sameContent(was.Finding, f, churn) {
		t := Transition{Record: was, Why: ReasonConfirmed}
		if len(churn.Affected) > 0 {
			seen := f // f itself would be allocated for every finding
			t.now = &seen
		}
		return t
	}
	t := Transition{Record: rec, Why: ReasonRefreshed, Write: true, was: was.Objects, news: isNews(was.Finding, f, churn)}
	if t.news || !slices.Equal(was.Owners, f.Owners) {
		t.Why, t.Record.Reason = ReasonChanged, ReasonChanged
	}
	return t
}

// tolerance is how far ahead a stored time may be without being corrected.
const tolerance = time.Minute

// clampTimes returns a record without times that are in the future, and whether there
// were any: they come from a publisher whose clock is ahead, and would silence the
// finding for as long. The time of a claim identifies the claim and stays.
func clampTimes(r Record, now time.Time) (Record, bool) {
	clamped := false
	clamp := func(t *time.Time) {
		if t.Sub(now) > tolerance {
			*t, clamped = now, true
		}
	}
	for _, t := range []*time.Time{&r.FirstSeen, &r.OpenedAt, &r.ResolvedAt} {
		clamp(t)
	}
	for _, n := range r.Notifications {
		clamp(&n.At)
		clamp(&n.Attempt.At)
		if n.Claim.By == "" {
			clamp(&n.Claim.At)
		}
		if clamped {
			r.SetNotification(n)
		}
	}
	return r, clamped
}
