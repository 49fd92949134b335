package audit

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rereader reads parts of a cluster once more.
type Rereader interface {
	// Reread hands over the facts of the given parts as they are now, each read
	// in the version that it was read in at first. It returns
	// the parts that it read completely; of the others it hands over nothing, and
	// says why they could not be read. An error means that the sweep was ended
	// from outside.
	Reread(ctx context.Context, parts []snapshot.Part, version func(snapshot.Kind) string, b *snapshot.Builder) ([]snapshot.Part, []UnreadPart, error)
}

// manyNamespaces is from how many namespaces on a kind is read again as a whole:
// one list is then cheaper than many.
const manyNamespaces = 20

// Confirmation is what a second look at the cluster said.
type confirmation struct {
	// Evaluation is the first one, with what was looked at again as it was
	// judged the second time. What could not be looked at again is unjudged.
	Evaluation Evaluation
	// Dropped are the IDs that were about to be opened or resolved, and did not
	// survive.
	Dropped []string
	// Problems are what stood in the way of looking again, sorted. What rests on it
	// is left as it was stored, and what is new of it is not known.
	Problems []Problem
}

// confirm judges again whatever is about to be opened or resolved, on a fresh
// read of the objects that it rests on. Kinds are read at different moments, so
// what one list does not hold another may have held a moment ago.
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
	again := s.evaluate(s.snap.Patched(read, &fresh))
	got := map[snapshot.Part]bool{}
	for _, p := range read {
		got[p] = true
	}
	j := indexEvaluation(&again)
	c := s.merge(about, again, func(t Transition) bool {
		return !j.unknown(t.Record.Rule, t.Record.ID) &&
			!slices.ContainsFunc(s.partsOf(t), func(p snapshot.Part) bool { return !got[p] && !got[snapshot.Part{Kind: p.Kind}] })
	})
	c.Problems = s.confirmationProblems(about, unread, &again)
	return c, nil
}

// merge takes of the second evaluation what it says of the findings in question,
// and all else from the first.
func (s *swept) merge(about []Transition, again Evaluation, looked func(Transition) bool) confirmation {
	second := map[string]Finding{}
	for _, f := range again.Findings {
		second[f.ID] = f
	}
	c := confirmation{Evaluation: s.evaluation}
	in := map[string]bool{}
	for _, t := range about {
		in[t.Record.ID] = true
	}
	c.Evaluation.Findings = slices.DeleteFunc(slices.Clone(s.evaluation.Findings), func(f Finding) bool { return in[f.ID] })
	c.Evaluation.Unread = slices.Concat(s.evaluation.Unread, again.Unread)
	for _, t := range about {
		f, there := second[t.Record.ID]
		opens := !t.Delete && (t.Record.State == StateOpen || t.Record.State == StatePending)
		switch {
		case !looked(t):
			// Nothing is known for certain, so nothing happens to it now.
			c.Evaluation.Withheld = append(c.Evaluation.Withheld, t.Record.ID)
			c.Dropped = append(c.Dropped, t.Record.ID)
		case there:
			c.Evaluation.Findings = append(c.Evaluation.Findings, f)
		case t.Why == ReasonChanged, !t.New && (t.Why == ReasonPending || t.Why == ReasonOpened):
			// To end what is stored takes two looks that agree: this one was at where
			// it was, and somebody else may take part by now.
			c.Evaluation.Withheld = append(c.Evaluation.Withheld, t.Record.ID)
		}
		if looked(t) && there != opens {
			c.Dropped = append(c.Dropped, t.Record.ID)
		}
	}
	c.Evaluation.sort()
	slices.Sort(c.Dropped)
	return c
}

// parts are the parts of the cluster that some findings rest on. Where they are
// in many namespaces, a kind is taken as a whole.
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

// partsOf are the parts that one finding rests on: the kinds of its objects in
// their namespaces; of a finding on a Namespace, all that its rule needs there.
func (s *swept) partsOf(t Transition) []snapshot.Part {
	rule := s.rule(t.Record.Rule)
	if rule == nil {
		return nil
	}
	parts := map[snapshot.Part]bool{}
	add := func(kind snapshot.Kind, namespace string) {
		switch {
		// The one ConfigMap that matters is the network plugin's.
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
