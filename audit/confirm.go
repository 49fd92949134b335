package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// manyNamespaces is the number of namespaces above which a kind is read again as a
// whole, because one list is then cheaper than many.
const manyNamespaces = 20

// confirmation is the outcome of evaluating again.
type confirmation struct {
	// Evaluation is the first one, with the findings in question as they were
	// evaluated the second time. What could not be read again is withheld.
	Evaluation Evaluation
	// Dropped are the IDs that were about to be opened or resolved and were not
	// confirmed.
	Dropped []string
	// Problems are what prevented confirmations, sorted. Stored findings that depend
	// on them stay as they are; new ones are not opened.
	Problems []Problem
}

// confirm evaluates what is about to be opened or resolved again, on a fresh read of
// the objects that it depends on. Kinds are read at different moments, so an object
// missing from one list may have been in another a moment ago.
func (s *swept) confirm(ctx context.Context, src Rereader, about []Transition) (confirmation, error) {
	wanted := s.parts(about)
	if len(wanted) == 0 {
		return confirmation{Evaluation: s.evaluation}, nil
	}
	var fresh snapshot.Builder
	read, unread, err := src.Reread(ctx, wanted, s.snap.Version, &fresh)
	if err != nil {
		return confirmation{}, err
	}
	again := s.evaluate(s.snap.Patched(read, &fresh), s.set)
	got := map[snapshot.Part]bool{}
	for _, p := range read {
		got[p] = true
	}
	index := indexEvaluation(&again)
	c := s.merge(about, again, func(t Transition) bool {
		return !index.unknown(t.Record.Rule, t.Record.ID) &&
			!slices.ContainsFunc(s.partsOf(t), func(p snapshot.Part) bool { return !got[p] && !got[snapshot.Part{Kind: p.Kind}] })
	})
	c.Problems = s.confirmationProblems(about, unread, &again)
	return c, nil
}

// merge takes the findings in question from the second evaluation, and all others
// from the first.
func (s *swept) merge(about []Transition, again Evaluation, complete func(Transition) bool) confirmation {
	second := map[string]Finding{}
	for _, f := range again.Findings {
		second[f.ID] = f
	}
	c := confirmation{Evaluation: s.evaluation}
	c.Evaluation.Churn = maps.Clone(s.evaluation.Churn)
	in := map[string]bool{}
	for _, t := range about {
		in[t.Record.ID] = true
	}
	c.Evaluation.Findings = slices.DeleteFunc(slices.Clone(s.evaluation.Findings), func(f Finding) bool { return in[f.ID] })
	c.Evaluation.Unread = slices.Concat(s.evaluation.Unread, again.Unread)
	c.Evaluation.Evaluated = maps.Clone(s.evaluation.Evaluated)
	for kind, evaluated := range c.Evaluation.Evaluated {
		c.Evaluation.Evaluated[kind] = evaluated && again.Evaluated[kind]
	}
	for _, t := range about {
		f, there := second[t.Record.ID]
		opens := !t.Delete && (t.Record.State == StateOpen || t.Record.State == StatePending)
		switch {
		case !complete(t):
			// Nothing is known for certain, so it stays as it is.
			c.Evaluation.Withheld = append(c.Evaluation.Withheld, t.Record.ID)
			c.Dropped = append(c.Dropped, t.Record.ID)
		case there:
			c.Evaluation.Findings = append(c.Evaluation.Findings, f)
			c.Evaluation.Churn[f.ID] = again.Churn[f.ID]
		case t.Why == ReasonChanged, t.Why == ReasonRefreshed, !t.New && (t.Why == ReasonPending || t.Why == ReasonOpened):
			// Two evaluations must agree to end a stored finding: this one read the
			// objects that were part of it, and others may be part of it by now.
			c.Evaluation.Withheld = append(c.Evaluation.Withheld, t.Record.ID)
		}
		if complete(t) && there != opens {
			c.Dropped = append(c.Dropped, t.Record.ID)
		}
	}
	c.Evaluation.sort()
	slices.Sort(c.Dropped)
	return c
}

// parts returns the parts of the cluster that some findings depend on. Kinds needed
// in many namespaces are taken as a whole.
func (s *swept) parts(about []Transition) []snapshot.Part {
	namespaces := map[snapshot.Kind]map[string]bool{}
	for _, t := range about {
		for _, p := range s.partsOf(t) {
			if namespaces[p.Kind] == nil {
				namespaces[p.Kind] = map[string]bool{}
			}
			namespaces[p.Kind][p.Namespace] = true
		}
	}
	var out []snapshot.Part
	for kind, in := range namespaces {
		if len(in) > manyNamespaces || in[""] {
			out = append(out, snapshot.Part{Kind: kind})
			continue
		}
		for namespace := range in {
			out = append(out, snapshot.Part{Kind: kind, Namespace: namespace})
		}
	}
	slices.SortFunc(out, func(a, b snapshot.Part) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Namespace, b.Namespace))
	})
	return out
}

// partsOf returns the parts that one finding depends on: the kinds of its objects in
// their namespaces; for a finding on a Namespace, everything that its rule needs
// there.
func (s *swept) partsOf(t Transition) []snapshot.Part {
	rule := s.rule(t.Record.Rule)
	if rule == nil {
		return nil
	}
	parts := map[snapshot.Part]bool{}
	add := func(kind snapshot.Kind, namespace string) {
		switch {
		// The only ConfigMap read is the network plugin's.
		case s.snap.Status(kind) != snapshot.Listed, kind == snapshot.CiliumConfigs, kind == snapshot.HostSources:
		case snapshot.ClusterWide(kind) && kind != snapshot.Namespaces:
			parts[snapshot.Part{Kind: kind}] = true
		default:
			parts[snapshot.Part{Kind: kind, Namespace: namespace}] = true
		}
	}
	if t.Record.Subject.Kind == rules.SubjectNamespace {
		for _, kind := range rule.Needs {
			add(kind, t.Record.Subject.Name)
		}
		// What other objects refer to may be in any namespace.
		for _, kind := range rule.Uses {
			if s.snap.Status(kind) == snapshot.Listed {
				parts[snapshot.Part{Kind: kind}] = true
			}
		}
	}
	for _, o := range slices.Concat(t.Record.Objects, t.was) {
		m := snapshot.Meta{Group: o.Group, Kind: o.Kind}
		add(m.Resource(), o.Namespace)
		if o.Namespace != "" {
			add(snapshot.Namespaces, o.Namespace)
		}
	}
	out := make([]snapshot.Part, 0, len(parts))
	for p := range parts {
		out = append(out, p)
	}
	return out
}

// confirmationProblems returns what prevented confirmations: parts that could not be
// read, and what the rules could evaluate the first time but not the second.
func (s *swept) confirmationProblems(about []Transition, unread []UnreadPart, again *Evaluation) []Problem {
	var out []Problem
	for _, u := range unread {
		out = append(out, u.problem())
	}
	first := indexEvaluation(&s.evaluation)
	for _, o := range again.Rules {
		if o.Status != RuleRan && first.outcome[o.Rule] == RuleRan {
			out = append(out, Problem{Where: "confirm with " + o.Rule, Reason: o.Reason})
		}
	}
	second := indexEvaluation(again)
	for _, t := range about {
		if id := t.Record.ID; second.notEvaluated[id] && !first.notEvaluated[id] {
			out = append(out, Problem{
				Where: "confirm " + t.Record.Subject.String(), Reason: t.Record.Rule + " can no longer evaluate it",
			})
		}
	}
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Where, b.Where), strings.Compare(a.Reason, b.Reason))
	})
	return out
}
