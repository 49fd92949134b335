package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Unread is a part of the cluster that could not be read again.
type UnreadPart struct {
	snapshot.Part
	Reason string
}

// problem tells of it to people.
func (u UnreadPart) problem() Problem {
	where := string(u.Kind)
	switch {
	case u.Namespace == "":
	case u.Kind == snapshot.Namespaces:
		where = "namespace " + u.Namespace
	default:
		where += " in namespace " + u.Namespace
	}
	return Problem{Where: "second look at " + where, Reason: u.Reason}
}

// inTheWay returns what stood in the way of looking again: parts that could not be
// read, and what the rules could judge the first time and cannot any more.
func (s *swept) confirmationProblems(about []Transition, unread []UnreadPart, again *Evaluation) []Problem {
	var out []Problem
	for _, u := range unread {
		out = append(out, u.problem())
	}
	first := indexEvaluation(&s.evaluation)
	for _, o := range again.Rules {
		if o.Status != RuleRan && first.outcome[o.Rule] == RuleRan {
			out = append(out, Problem{Where: "second look by " + o.Rule, Reason: o.Reason})
		}
	}
	second := indexEvaluation(again)
	for _, t := range about {
		if id := t.Record.ID; second.notEvaluated[id] && !first.notEvaluated[id] {
			out = append(out, Problem{
				Where: "second look at " + t.Record.Subject.String(), Reason: t.Record.Rule + " cannot judge it any more",
			})
		}
	}
	slices.SortFunc(out, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Where, b.Where), strings.Compare(a.Reason, b.Reason))
	})
	return out
}
