package audit

import (
	"slices"

	"github.com/eventuallytrue/audit/rules"
)

// judged is what a sweep knows, as it is asked for one finding after another.
type evaluated struct {
	outcome      map[string]OutcomeStatus // by rule; a rule that is not in it is not asked for any more
	findings     map[string]Finding       // by ID
	excepted     map[string]bool          // by ID
	notEvaluated map[string]bool          // by ID
	exempted     map[string]bool          // by ID
	unread       map[RuleObject]bool
}

func indexEvaluation(ev *Evaluation) *evaluated {
	j := &evaluated{
		outcome: map[string]OutcomeStatus{}, findings: map[string]Finding{},
		excepted: map[string]bool{}, notEvaluated: map[string]bool{}, exempted: map[string]bool{},
		unread: map[RuleObject]bool{},
	}
	for _, o := range ev.Rules {
		j.outcome[o.Rule] = o.Status
	}
	for _, f := range ev.Findings {
		j.findings[f.ID] = f
	}
	for _, f := range ev.Excepted {
		j.excepted[f.ID] = true
	}
	for _, s := range ev.NotEvaluated {
		j.notEvaluated[rules.ID(s.Rule, s.Subject)] = true
	}
	for _, id := range ev.Withheld {
		j.notEvaluated[id] = true
	}
	for _, o := range ev.Unread {
		j.unread[o] = true
	}
	for _, s := range ev.Exempted {
		j.exempted[rules.ID(s.Rule, s.Subject)] = true
	}
	return j
}

// silent reports whether nothing is known of a finding: its rule is asked for and
// did not run, or could not judge the subject. It goes by the ID, since a store
// may have cut the subject short.
func (j *evaluated) unknown(rule, id string) bool {
	status, asked := j.outcome[rule]
	return asked && status != RuleRan || j.notEvaluated[id]
}

// retired reports whether a finding is not asked for any more: its rule is gone, or
// the config leaves the subject out.
func (j *evaluated) retired(rule, id string) bool {
	_, asked := j.outcome[rule]
	return !asked || j.exempted[id]
}

// hidden reports whether a finding may still be there although it was not found:
// of an object that is part of it, its rule cannot tell what it is part of now.
func (j *evaluated) mayPersist(rec Record) bool {
	return slices.ContainsFunc(rec.Objects, func(o rules.Object) bool { return j.unread[RuleObject{rec.Rule, o.Ref}] })
}
