package audit

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Evaluation is what the rules found in a snapshot. Its lists are sorted as those of
// Result.
type Evaluation struct {
	Rules    []Outcome
	Findings []Finding
	// Churn is what of each finding comes and goes, by ID.
	Churn      map[string]Churn
	Advisories []Advisory
	Isolation  []rules.Isolation
	Ownership  []NamespaceOwner
	Exceptions []ExceptionUse
	// Excepted are the findings hidden by exceptions.
	Excepted []Finding
	// NotEvaluated are subjects that a rule ran but could not evaluate, Exempted
	// those that the config leaves out.
	NotEvaluated, Exempted []RuleSubject

	// Unread are objects for which a rule that ran cannot determine which subjects
	// they are part of.
	Unread []RuleObject
	// Faults are the objects that could not be read, or that a rule could not evaluate,
	// each once.
	Faults []ObjectFault
	// AfterOthers are the rules about Faults. Evaluated are the kinds that the other rules
	// read: true if they were read completely, and all of these rules ran, so that what is
	// not in Faults has none.
	AfterOthers []string
	Evaluated   map[snapshot.Kind]bool

	// Named are the owners whom the config names, or who own a namespace, as in
	// Finding.Owners. Others are named by an object alone: anyone who can edit one can
	// name any number of them. nil: all are.
	Named map[string]bool

	// Withheld are the IDs of findings that could not be confirmed.
	Withheld []string
	// Evicted are the IDs of stored findings that make room for others.
	Evicted map[string]bool
}

// Outcome says whether a rule ran.
type Outcome struct {
	Rule   string
	Status OutcomeStatus
	Reason string // why it did not run
}

// OutcomeStatus is the status of a rule. Only if it ran does the absence of a
// finding mean anything.
type OutcomeStatus string

// The outcomes of a rule.
const (
	RuleRan     OutcomeStatus = "ran"
	RuleSkipped OutcomeStatus = "skipped" // a kind it needs was not read completely
	RuleFailed  OutcomeStatus = "failed"  // it erred or panicked
)

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

// Previous is what an earlier sweep of the same cluster saw: when its findings were
// first seen, and the isolation of each namespace. The zero value knows nothing.
type Previous struct {
	At        time.Time
	FirstSeen map[string]time.Time       // by the ID of a finding
	Isolation map[string]rules.Isolation // by namespace
}

// firstSeen returns when a finding was first seen.
func (p *Previous) firstSeen(id string, now time.Time) time.Time {
	if seen, ok := p.FirstSeen[id]; ok && seen.Before(now) {
		return seen
	}
	return now
}

// before returns what the earlier sweep saw in a namespace and a direction.
func (p *Previous) before(namespace string, d snapshot.Direction) rules.Previous {
	row, ok := p.Isolation[namespace]
	if !ok || len(row.NotEvaluated[d]) > 0 {
		return rules.Previous{}
	}
	if d == snapshot.DirectionEgress {
		return rules.Previous{State: row.Egress, At: p.At}
	}
	return rules.Previous{State: row.Ingress, At: p.At}
}

// Evaluate runs each rule on the snapshot. A rule is skipped if one of its kinds was
// not read completely, and has failed if it returns an error or panics: neither says
// anything about its subjects. now is the start of the sweep, previous what an
// earlier sweep saw, or nil.
func Evaluate(snap *snapshot.Snapshot, set []*rules.Rule, c *config.Config, now time.Time, previous *Previous) Evaluation {
	e := &evaluator{previous: cmp.Or(previous, &Previous{}), config: c, now: now, owners: newOwners(c, snap)}
	uses := newExceptionUses(c, now)
	ran := map[string]bool{}
	ev := Evaluation{Churn: map[string]Churn{}}
	all := e.runAll(set, snap)
	ev.Faults = e.faults(snap, all)
	e.runAfterOthers(set, snap, all, ev.Faults)
	ev.Evaluated = evaluatedKinds(set, snap, all)
	for i, r := range all {
		rule, result := set[i], r.result
		ev.Rules = append(ev.Rules, r.outcome)
		ran[rule.Name] = r.outcome.Status == RuleRan
		for _, v := range result.Violations {
			if f := e.finding(rule, v); uses.hide(f) {
				ev.Excepted = append(ev.Excepted, f)
			} else {
				ev.Findings = append(ev.Findings, f)
				ev.Churn[f.ID] = newChurn(rule, &v)
			}
		}
		for _, s := range result.NotEvaluated {
			ev.NotEvaluated = append(ev.NotEvaluated, RuleSubject{rule.Name, s})
		}
		for _, s := range result.Exempted {
			ev.Exempted = append(ev.Exempted, RuleSubject{rule.Name, s})
		}
		for _, f := range result.Unread {
			ev.Unread = append(ev.Unread, RuleObject{rule.Name, f.Ref})
		}
		for _, ref := range result.Dependent {
			ev.Unread = append(ev.Unread, RuleObject{rule.Name, ref})
		}
		for _, namespace := range result.UnreadIn {
			ev.Unread = append(ev.Unread, anyIn(rule.Name, namespace))
		}
		if rule.AfterOthers {
			ev.AfterOthers = append(ev.AfterOthers, rule.Name)
		} else {
			for _, f := range snap.Faults() {
				ev.Unread = append(ev.Unread, RuleObject{rule.Name, f.Ref})
			}
		}
		for _, a := range result.Advisories {
			ev.Advisories = append(ev.Advisories, Advisory{
				Rule: rule.Name, Subject: a.Subject, Owners: e.names(a.Owners), Message: a.Message, Objects: a.Objects,
			})
		}
		ev.Isolation = append(ev.Isolation, result.Isolation...)
	}
	uses.markUnused(ran)
	ev.Exceptions = uses
	ev.Advisories = append(ev.Advisories, uses.advisories()...)
	ev.Ownership = e.owners.all()
	ev.Named = named(ev.Ownership, c)
	ev.Advisories = append(ev.Advisories, channelAdvisories(ev.Ownership, c)...)
	ev.sort()
	return ev
}

type evaluator struct {
	previous *Previous
	config   *config.Config
	now      time.Time
	owners   *owners
}

// runAll runs the rules concurrently and returns their results in the order of the
// rules.
func (e *evaluator) runAll(set []*rules.Rule, snap *snapshot.Snapshot) []ruleResult {
	all := make([]ruleResult, len(set))
	var wait sync.WaitGroup
	for i, rule := range set {
		if !rule.AfterOthers {
			wait.Go(func() { all[i].outcome, all[i].result = e.run(rule, snap, nil) })
		}
	}
	wait.Wait()
	return all
}

// runAfterOthers runs the rules that evaluate what the others could not.
func (e *evaluator) runAfterOthers(set []*rules.Rule, snap *snapshot.Snapshot, all []ruleResult, objects []ObjectFault) {
	for i, rule := range set {
		if !rule.AfterOthers {
			continue
		}
		faults := make([]snapshot.Fault, len(objects))
		for j, f := range objects {
			faults[j] = f.Fault
		}
		all[i].outcome, all[i].result = e.run(rule, snap, faults)
	}
}

// evaluatedKinds returns Evaluation.Evaluated.
func evaluatedKinds(set []*rules.Rule, snap *snapshot.Snapshot, all []ruleResult) map[snapshot.Kind]bool {
	out := map[snapshot.Kind]bool{}
	for i, rule := range set {
		if rule.AfterOthers {
			continue
		}
		view := snap.View(slices.Concat(rule.Needs, rule.Uses)...)
		for _, read := range snap.Reads() {
			if !view.Declares(read.Kind) {
				continue
			}
			before, ok := out[read.Kind]
			out[read.Kind] = (before || !ok) && read.Status.Known() && all[i].outcome.Status == RuleRan
		}
	}
	return out
}

// ruleResult is the result of one rule.
type ruleResult struct {
	outcome Outcome
	result  rules.Result
}

// run runs one rule, unless a kind that it needs is not known.
func (e *evaluator) run(rule *rules.Rule, snap *snapshot.Snapshot, faults []snapshot.Fault) (outcome Outcome, result rules.Result) {
	outcome = Outcome{Rule: rule.Name, Status: RuleRan}
	var unread []string
	for _, kind := range rule.Needs {
		for _, read := range snap.Unknown(kind) {
			unread = append(unread, fmt.Sprintf("%s %s", read.Kind, read.Status))
		}
	}
	if len(unread) > 0 {
		outcome.Status, outcome.Reason = RuleSkipped, strings.Join(unread, ", ")
		return outcome, rules.Result{}
	}
	// A rule that panics must not stop the others, and must not look as if it had
	// found nothing.
	defer func() {
		if p := recover(); p != nil {
			outcome.Status, outcome.Reason = RuleFailed, fmt.Sprintf("panic: %v at %s", p, panicSite(debug.Stack()))
			result = rules.Result{}
		}
	}()
	settings := e.config.Settings(rule)
	result, err := rule.Run(rules.Input{
		Now:        e.now,
		View:       snap.View(slices.Concat(rule.Needs, rule.Uses)...),
		Owner:      e.owners.of,
		Directions: settings.Directions,
		Exempt:     settings.Exempt,
		Previous:   e.previous.before,
		Faults:     faults,

		TrustedSolver: e.config.Hosts.TrustsSolvers,
	})
	if err != nil {
		outcome.Status, outcome.Reason = RuleFailed, err.Error()
		return outcome, rules.Result{}
	}
	return outcome, result
}

// panicSite returns the innermost line of this program in a stack trace, which a bug
// report needs first.
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
	return "an unknown location"
}

func (e *evaluator) finding(rule *rules.Rule, v rules.Violation) Finding {
	objects := slices.Clone(v.Objects)
	slices.SortStableFunc(objects, rules.CompareObjects)
	id := rules.ID(rule.Name, v.Subject)
	state := StateOpen
	if _, seen := e.previous.FirstSeen[id]; v.Provisional && !seen {
		state = StatePending
	}
	names := e.names(v.Owners)
	if fallback := e.config.Owners.Fallback; v.Fallback && fallback != "" && !slices.Contains(names, fallback) {
		names = slices.Sorted(slices.Values(append(names, fallback)))
	}
	f := Finding{
		ID:        id,
		Rule:      rule.Name,
		Severity:  e.config.Settings(rule).Severity.Lower(v.Downgrade),
		Subject:   v.Subject,
		Verdict:   v.Verdict,
		Culprit:   v.Culprit,
		Owners:    names,
		Message:   v.Message,
		Cause:     v.Cause,
		Remedy:    v.Remedy,
		State:     state,
		FirstSeen: e.previous.firstSeen(id, e.now),
		Objects:   objects,

		Provisional: v.Provisional,
		Ranks:       e.owners.ranks(v),
	}
	f.Culprit = f.culprit()
	return f
}

// names returns the names of those who are notified, sorted.
func (e *evaluator) names(owners []rules.Owner) []string {
	out := []string{}
	for _, o := range owners {
		out = append(out, e.owners.notified(o))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// faults returns the objects that could not be read or evaluated, each once, with the
// owner of its namespace: what the object itself says is not to be relied on.
func (e *evaluator) faults(snap *snapshot.Snapshot, all []ruleResult) []ObjectFault {
	seen := map[snapshot.Ref]bool{}
	var out []ObjectFault
	add := func(list []snapshot.Fault) {
		for _, f := range list {
			if seen[f.Ref] {
				continue
			}
			seen[f.Ref] = true
			owner := e.owners.of(&snapshot.Meta{Group: f.Group, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name})
			out = append(out, ObjectFault{Fault: f, Owner: e.owners.notified(owner)})
		}
	}
	for _, r := range all {
		add(r.result.Unread)
	}
	add(snap.Faults())
	slices.SortFunc(out, func(a, b ObjectFault) int { return a.Compare(b.Fault) })
	return out
}

func (ev *Evaluation) sort() {
	slices.SortFunc(ev.Rules, func(a, b Outcome) int { return strings.Compare(a.Rule, b.Rule) })
	slices.SortFunc(ev.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), strings.Compare(a.Rule, b.Rule), a.Subject.Compare(b.Subject))
	})
	sortAdvisories(ev.Advisories)
	slices.SortFunc(ev.Isolation, func(a, b rules.Isolation) int { return strings.Compare(a.Namespace, b.Namespace) })
}

func sortAdvisories(list []Advisory) {
	slices.SortStableFunc(list, func(a, b Advisory) int {
		return cmp.Or(strings.Compare(a.Rule, b.Rule), a.Subject.Compare(b.Subject), strings.Compare(a.Message, b.Message))
	})
}
