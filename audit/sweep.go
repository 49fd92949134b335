package audit

import (
	"context"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Sweep reads the source and lets the rules judge it. It changes nothing
// anywhere. An error means that the sweep was ended from outside, and there is
// no result.
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
	s := &swept{snap: b.Freeze(), set: set, watch: watch, evaluate: func(snap *snapshot.Snapshot) Evaluation {
		return Evaluate(snap, set, c, started, previous)
	}}
	s.evaluation = s.evaluate(s.snap)
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
		Rules:      s.evaluation.Rules,
		Findings:   s.evaluation.Findings,
		Advisories: s.evaluation.Advisories,
		Isolation:  s.evaluation.Isolation,
		Ownership:  s.evaluation.Ownership,
		Exceptions: s.evaluation.Exceptions,
	}, s, nil
}

// Needs returns the kinds that a set of rules needs or uses, sorted. Namespaces are
// always among them, since owners hang on them.
func Needs(set []*rules.Rule) []snapshot.Kind {
	kinds := []snapshot.Kind{snapshot.Namespaces}
	for _, r := range set {
		kinds = append(kinds, r.Needs...)
		kinds = append(kinds, r.Uses...)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Filter keeps of a result what concerns one of the given namespaces: findings
// and advisories on it or on an object in it, and its row of the isolation.
// What was read and whether it was complete stays as it is, since another
// namespace may be the one that cannot be read.
func Filter(r *Result, namespaces []string) {
	if len(namespaces) == 0 {
		return
	}
	r.Only = slices.Clone(namespaces)
	slices.Sort(r.Only)
	concerns := func(s rules.Subject, objects []rules.Object) bool {
		return slices.Contains(namespaces, s.Namespace) ||
			s.Kind == rules.SubjectNamespace && slices.Contains(namespaces, s.Name) ||
			slices.ContainsFunc(objects, func(o rules.Object) bool { return slices.Contains(namespaces, o.Namespace) })
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return !concerns(f.Subject, f.Objects) })
	r.Advisories = slices.DeleteFunc(r.Advisories, func(a Advisory) bool { return !concerns(a.Subject, a.Objects) })
	r.Isolation = slices.DeleteFunc(r.Isolation, func(i rules.Isolation) bool { return !slices.Contains(namespaces, i.Namespace) })
}
