package audit

import (
	"cmp"
	"fmt"
	"runtime/debug"
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
	Unjudged, Waived []RuleSubject

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
// anything of its subjects. The time is that of the sweep.
func Evaluate(snap *snapshot.Snapshot, set []*rules.Rule, c *config.Config, now time.Time) Evaluation {
	return EvaluateAfter(&Previous{}, snap, set, c, now)
}

// EvaluateAfter is Evaluate with what an earlier sweep tells.
func EvaluateAfter(p *Previous, snap *snapshot.Snapshot, set []*rules.Rule, c *config.Config, now time.Time) Evaluation {
	e := &evaluator{previous: p, config: c, now: now, owners: newOwners(c, snap), uses: make([]ExceptionUse, len(c.Exceptions))}
	var ev Evaluation
	for _, rule := range set {
		outcome, result := e.run(rule, snap)
		ev.Rules = append(ev.Rules, outcome)
		for _, v := range result.Violations {
			if f := e.finding(rule, v); e.excepted(f) {
				ev.Excepted = append(ev.Excepted, f)
			} else {
				ev.Findings = append(ev.Findings, f)
			}
		}
		for _, s := range result.Unjudged {
			ev.Unjudged = append(ev.Unjudged, RuleSubject{rule.Name, s})
		}
		for _, s := range result.Waived {
			ev.Waived = append(ev.Waived, RuleSubject{rule.Name, s})
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

// run lets one rule judge, unless something it needs is not known.
func (e *evaluator) run(rule *rules.Rule, snap *snapshot.Snapshot) (outcome Outcome, result rules.Result) {
	outcome = Outcome{Rule: rule.Name, Status: Ran}
	var unread []string
	for _, kind := range rule.Needs {
		for _, read := range snap.Unknown(kind) {
			unread = append(unread, fmt.Sprintf("%s %s", read.Kind, read.Status))
		}
	}
	if len(unread) > 0 {
		outcome.Status, outcome.Reason = Skipped, strings.Join(unread, ", ")
		return outcome, rules.Result{}
	}
	// A rule that panics must not take the others with it, and must not look
	// like one that found nothing.
	defer func() {
		if p := recover(); p != nil {
			outcome.Status, outcome.Reason = Broken, fmt.Sprintf("panic: %v at %s", p, panicSite(debug.Stack()))
			result = rules.Result{}
		}
	}()
	settings := e.config.Settings(rule)
	result, err := rule.Run(rules.Input{
		View:       snap.View(slices.Concat(rule.Needs, rule.Uses)...),
		Owner:      e.owners.of,
		Directions: settings.Directions,
		Exempt:     settings.Exempt,
		Before:     e.previous.before,
	})
	if err != nil {
		outcome.Status, outcome.Reason = Broken, err.Error()
		return outcome, rules.Result{}
	}
	return outcome, result
}

// panicSite returns the innermost line of our own in a stack, which is what a
// bug report needs first.
func panicSite(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") {
			for _, l := range lines[i+2:] {
				if site := strings.TrimSpace(l); strings.Contains(site, ".go:") && strings.Contains(site, "/rules/") {
					site, _, _ = strings.Cut(site, " ")
					return site[strings.LastIndex(site, "/rules/")+1:]
				}
			}
		}
	}
	return "an unknown place"
}

func (e *evaluator) finding(rule *rules.Rule, v rules.Violation) Finding {
	objects := slices.Clone(v.Objects)
	slices.SortStableFunc(objects, rules.CompareObjects)
	id := rules.ID(rule.Name, v.Subject)
	return Finding{
		ID:        id,
		Rule:      rule.Name,
		Severity:  e.config.Settings(rule).Severity.Lower(v.Lighter),
		Subject:   v.Subject,
		Verdict:   v.Verdict,
		Owners:    e.names(v.Owners),
		Message:   v.Message,
		Cause:     v.Cause,
		Remedy:    v.Remedy,
		State:     Open,
		FirstSeen: e.previous.firstSeen(id, e.now),
		Objects:   objects,
	}
}

// names returns who is told, sorted.
func (e *evaluator) names(owners []rules.Owner) []string {
	out := []string{}
	for _, o := range owners {
		out = append(out, e.owners.told(o))
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
