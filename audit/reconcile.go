package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
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
	case index.retired(rec):
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

// evaluated is an Evaluation indexed by finding.
type evaluated struct {
	outcome      map[string]OutcomeStatus // by rule; a rule that is not in it no longer exists
	findings     map[string]Finding       // by ID
	churn        map[string]Churn         // by ID
	excepted     map[string]bool          // by ID
	notEvaluated map[string]bool          // by ID
	exempted     map[string]bool          // by ID
	unread       map[RuleObject]bool
	evicted      map[string]bool // by ID
	afterOthers  []string
	kinds        map[snapshot.Kind]bool // as Evaluation.Evaluated
}

func indexEvaluation(ev *Evaluation) *evaluated {
	x := &evaluated{
		outcome: map[string]OutcomeStatus{}, findings: map[string]Finding{}, churn: ev.Churn,
		excepted: map[string]bool{}, notEvaluated: map[string]bool{}, exempted: map[string]bool{},
		unread: map[RuleObject]bool{}, evicted: ev.Evicted,
		afterOthers: ev.AfterOthers, kinds: ev.Evaluated,
	}
	for _, o := range ev.Rules {
		x.outcome[o.Rule] = o.Status
	}
	for _, f := range ev.Findings {
		x.findings[f.ID] = f
	}
	for _, f := range ev.Excepted {
		x.excepted[f.ID] = true
	}
	for _, s := range ev.NotEvaluated {
		x.notEvaluated[rules.ID(s.Rule, s.Subject)] = true
	}
	for _, id := range ev.Withheld {
		x.notEvaluated[id] = true
	}
	for _, o := range ev.Unread {
		x.unread[o] = true
	}
	for _, s := range ev.Exempted {
		x.exempted[rules.ID(s.Rule, s.Subject)] = true
	}
	return x
}

// unknown reports whether nothing is known about a finding: its rule did not run, or
// could not evaluate the subject. It goes by the ID, since a store may have
// shortened the subject.
func (x *evaluated) unknown(rule, id string) bool {
	status, asked := x.outcome[rule]
	return asked && status != RuleRan || x.notEvaluated[id]
}

// retired reports whether a finding is no longer asked for: its rule was removed, the
// config exempts the subject, or it is about an object that no rule reads any more.
func (x *evaluated) retired(rec Record) bool {
	_, asked := x.outcome[rec.Rule]
	return !asked || x.exempted[rec.ID] ||
		x.aboutObject(rec) && !x.reads(rec)
}

// mayPersist reports whether a finding may still exist although it was not found:
// its rule cannot determine what one of its objects is part of now, or what may be in
// the place of one, or it is about an
// object that may be as impossible to evaluate as it was.
func (x *evaluated) mayPersist(rec Record) bool {
	if x.aboutObject(rec) {
		return x.reads(rec) && !x.kinds[kindOf(rec)]
	}
	return slices.ContainsFunc(rec.Objects, func(o rules.Object) bool {
		return x.unread[RuleObject{rec.Rule, o.Ref}] || o.Namespace != "" && x.unread[anyIn(rec.Rule, o.Namespace)]
	})
}

// anyIn stands for all objects of a namespace.
func anyIn(rule, namespace string) RuleObject {
	return RuleObject{rule, snapshot.Ref{Namespace: namespace}}
}

// aboutObject reports whether a finding is about an object that could not be evaluated.
func (x *evaluated) aboutObject(rec Record) bool {
	return slices.Contains(x.afterOthers, rec.Rule) && !isSummary(&rec.Finding)
}

// reads reports whether any rule reads the kind of the object that a finding is about.
func (x *evaluated) reads(rec Record) bool {
	_, read := x.kinds[kindOf(rec)]
	return read
}

// kindOf returns the kind of the object that could not be evaluated.
func kindOf(rec Record) snapshot.Kind { return snapshot.Kind(rec.Subject.Detail) }
