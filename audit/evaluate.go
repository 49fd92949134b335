package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Evaluation is what the rules say of a snapshot. Its lists are sorted as those
// of Result.
type Evaluation struct {
	Rules      []Outcome
	Findings   []Finding
	Advisories []Advisory
	Isolation  []rules.Isolation
	Ownership  []NamespaceOwner
	Exceptions []ExceptionUse
	// Excepted are the findings that exceptions hide.
	Excepted []Finding
	// Unjudged are subjects that a rule which ran could not judge, and Waived
	// those that the config leaves out.
	NotEvaluated, Exempted []RuleSubject

	// Unread are objects of which a rule that ran cannot tell what they are part of.
	Unread []RuleObject

	// Withheld are the IDs of findings that a second look could not judge.
	Withheld []string
}

// RuleSubject is a subject of a rule.
type RuleSubject struct {
	Rule    string
	Subject rules.Subject
}

// RuleObject is an object as a rule sees it.
type RuleObject struct {
	Rule   string
	Object snapshot.Ref
}

// Evaluate lets each rule judge the snapshot. A rule whose kinds were not all
// read is skipped, and one that errs or panics has failed: neither says
// anything of its subjects. now is the start of the sweep, previous what an earlier
// sweep saw, or nil.
func Evaluate(snap *snapshot.Snapshot, set []*rules.Rule, c *config.Config, now time.Time, previous *Previous) Evaluation {
	e := &evaluator{previous: cmp.Or(previous, &Previous{}), config: c, now: now, owners: newOwners(c, snap), uses: make([]ExceptionUse, len(c.Exceptions))}
	var ev Evaluation
	for i, j := range e.runAll(set, snap) {
		rule, result := set[i], j.result
		ev.Rules = append(ev.Rules, j.outcome)
		for _, v := range result.Violations {
			if f := e.finding(rule, v); e.excepted(f) {
				ev.Excepted = append(ev.Excepted, f)
			} else {
				ev.Findings = append(ev.Findings, f)
			}
		}
		for _, s := range result.NotEvaluated {
			ev.NotEvaluated = append(ev.NotEvaluated, RuleSubject{rule.Name, s})
		}
		for _, s := range result.Exempted {
			ev.Exempted = append(ev.Exempted, RuleSubject{rule.Name, s})
		}
		for _, o := range result.Unread {
			ev.Unread = append(ev.Unread, RuleObject{rule.Name, o})
		}
		for _, a := range result.Advisories {
			ev.Advisories = append(ev.Advisories, Advisory{
				Rule: rule.Name, Subject: a.Subject, Owners: e.names(a.Owners), Message: a.Message, Objects: a.Objects,
			})
		}
		ev.Isolation = append(ev.Isolation, result.Isolation...)
	}
	ev.Exceptions = e.exceptions(ev.Rules)
	ev.Advisories = append(ev.Advisories, exceptionAdvisories(ev.Exceptions)...)
	ev.Ownership = e.owners.all()
	ev.Advisories = append(ev.Advisories, channelAdvisories(ev.Ownership, c)...)
	ev.sort()
	return ev
}

type evaluator struct {
	previous *Previous
	config   *config.Config
	now      time.Time
	owners   *owners
	uses     []ExceptionUse
}

func (e *evaluator) finding(rule *rules.Rule, v rules.Violation) Finding {
	objects := slices.Clone(v.Objects)
	slices.SortStableFunc(objects, rules.CompareObjects)
	id := rules.ID(rule.Name, v.Subject)
	return Finding{
		ID:        id,
		Rule:      rule.Name,
		Severity:  e.config.Settings(rule).Severity.Lower(v.Downgrade),
		Subject:   v.Subject,
		Verdict:   v.Verdict,
		Owners:    e.names(v.Owners),
		Message:   v.Message,
		Cause:     v.Cause,
		Remedy:    v.Remedy,
		State:     StateOpen,
		FirstSeen: e.previous.firstSeen(id, e.now),
		Objects:   objects,
	}
}

// names returns who is told, sorted.
func (e *evaluator) names(owners []rules.Owner) []string {
	out := []string{}
	for _, o := range owners {
		out = append(out, e.owners.notified(o))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (ev *Evaluation) sort() {
	slices.SortFunc(ev.Rules, func(a, b Outcome) int { return strings.Compare(a.Rule, b.Rule) })
	slices.SortFunc(ev.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), strings.Compare(a.Rule, b.Rule), a.Subject.Compare(b.Subject))
	})
	slices.SortStableFunc(ev.Advisories, func(a, b Advisory) int {
		return cmp.Or(strings.Compare(a.Rule, b.Rule), a.Subject.Compare(b.Subject), strings.Compare(a.Message, b.Message))
	})
	slices.SortFunc(ev.Isolation, func(a, b rules.Isolation) int { return strings.Compare(a.Namespace, b.Namespace) })
}
