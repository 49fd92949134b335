// Package audit runs a sweep: it reads a source into a snapshot, evaluates the rules
// on it, turns violations into findings with owners, and publishes them.
//
// It is pure except for the Source, Store, Lock and Notifier that it is given: no
// client, no clock, no printing. Objects come from audit/kube and audit/manifests,
// results go to notify.
package audit

import (
	"context"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Sweep reads the source and evaluates the rules. It changes nothing anywhere.
// previous is what an earlier sweep saw, or nil. An error means that the sweep was
// canceled, and there is no result.
func Sweep(ctx context.Context, src Source, set []*rules.Rule, c *config.Config, clock func() time.Time, previous *Previous) (*Result, error) {
	res, _, err := sweep(ctx, src, set, c, clock, previous)
	return res, err
}

// sweep also returns what the result was made of.
func sweep(ctx context.Context, src Source, set []*rules.Rule, c *config.Config, clock func() time.Time, previous *Previous) (*Result, *swept, error) {
	started := clock()
	var b snapshot.Builder
	reading, err := src.Read(ctx, Needs(set), &b)
	if err != nil {
		return nil, nil, err
	}
	watch := newStopwatch(clock, started)
	watch.end(PhaseRead)
	s := &swept{snap: b.Freeze(), set: set, watch: watch, fallback: c.Owners.Fallback, evaluate: func(snap *snapshot.Snapshot, set []*rules.Rule) Evaluation {
		return Evaluate(snap, set, c, started, previous)
	}}
	s.evaluation = s.evaluate(s.snap, set)
	watch.end(PhaseEvaluate)
	slices.SortFunc(reading.Ignored, compareIgnored)
	return &Result{
		Cluster:    c.Cluster,
		Started:    started,
		Finished:   watch.began,
		Phases:     slices.Clone(watch.phases),
		Namespaces: s.snap.NamespaceNames(),
		Reads:      s.snap.Reads(),
		Ignored:    reading.Ignored,
		Problems:   reading.Problems,
		Faults:     s.evaluation.Faults,
		Rules:      s.evaluation.Rules,
		Findings:   s.evaluation.Findings,
		Advisories: withNotes(s.evaluation.Advisories, reading.Notes, c.Cluster),
		Isolation:  s.evaluation.Isolation,
		Ownership:  s.evaluation.Ownership,
		OwnerKey:   FindOwnerKey(s.snap, s.evaluation.Ownership),
		Exceptions: s.evaluation.Exceptions,
		swept:      s,
	}, s, nil
}

// withNotes returns the advisories of an evaluation with the notes of its source.
func withNotes(advisories []Advisory, notes []string, source string) []Advisory {
	if len(notes) == 0 {
		return advisories
	}
	all := slices.Clone(advisories)
	for _, note := range notes {
		all = append(all, Advisory{Rule: RuleManifests, Subject: rules.Subject{Kind: "Manifests", Name: source}, Message: note})
	}
	sortAdvisories(all)
	return all
}

// swept is what a sweep read and found.
type swept struct {
	snap       *snapshot.Snapshot
	set        []*rules.Rule
	evaluation Evaluation
	evaluate   func(*snapshot.Snapshot, []*rules.Rule) Evaluation
	watch      *stopwatch
	fallback   string // the fallback owner of the config
}

func (s *swept) rule(name string) *rules.Rule {
	for _, r := range s.set {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// stopwatch measures the phases of a sweep.
type stopwatch struct {
	clock  func() time.Time
	began  time.Time // the current phase
	phases []Phase
}

func newStopwatch(clock func() time.Time, now time.Time) *stopwatch {
	return &stopwatch{clock: clock, began: now}
}

// end ends the current phase and begins the next.
func (w *stopwatch) end(phase string) {
	now := w.clock()
	w.phases = append(w.phases, Phase{phase, now.Sub(w.began)})
	w.began = now
}

// Needs returns the kinds that a set of rules needs or uses, sorted. Namespaces are
// always included, since owners depend on them.
func Needs(set []*rules.Rule) []snapshot.Kind {
	kinds := []snapshot.Kind{snapshot.Namespaces}
	for _, r := range set {
		kinds = append(kinds, r.Needs...)
		kinds = append(kinds, r.Uses...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Filter keeps the parts of a result that concern one of the given namespaces:
// findings and advisories on it or on an object in it, and its isolation row. What
// was read and whether the sweep was complete stay as they are, because the kind
// that could not be read may be in another namespace.
func Filter(r *Result, namespaces []string) {
	if len(namespaces) == 0 {
		return
	}
	r.Only = slices.Clone(namespaces)
	slices.Sort(r.Only)
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return !Concerns(&f, namespaces) })
	// What is said of all manifests concerns each namespace.
	r.Advisories = slices.DeleteFunc(r.Advisories, func(a Advisory) bool {
		return a.Rule != RuleManifests && !concerns(a.Subject, a.Objects, namespaces)
	})
	r.Isolation = slices.DeleteFunc(r.Isolation, func(i rules.Isolation) bool { return !slices.Contains(namespaces, i.Namespace) })
}

// Concerns reports whether a finding is on one of the given namespaces or on an object in
// it, or whether none are given.
func Concerns(f *Finding, namespaces []string) bool {
	return len(namespaces) == 0 || concerns(f.Subject, f.Objects, namespaces)
}

func concerns(s rules.Subject, objects []rules.Object, namespaces []string) bool {
	return slices.Contains(namespaces, s.Namespace) ||
		s.Kind == rules.SubjectNamespace && slices.Contains(namespaces, s.Name) ||
		slices.ContainsFunc(objects, func(o rules.Object) bool { return slices.Contains(namespaces, o.Namespace) })
}
