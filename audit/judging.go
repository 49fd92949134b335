package audit

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// judgement is what one rule says.
type ruleResult struct {
	outcome Outcome
	result  rules.Result
}

// runAll lets the rules judge side by side, and returns what each says in their order.
func (e *evaluator) runAll(set []*rules.Rule, snap *snapshot.Snapshot) []ruleResult {
	all := make([]ruleResult, len(set))
	var wait sync.WaitGroup
	for i, rule := range set {
		wait.Go(func() { all[i].outcome, all[i].result = e.run(rule, snap) })
	}
	wait.Wait()
	return all
}

// run lets one rule judge, unless something it needs is not known.
func (e *evaluator) run(rule *rules.Rule, snap *snapshot.Snapshot) (outcome Outcome, result rules.Result) {
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
	// A rule that panics must not take the others with it, and must not look
	// like one that found nothing.
	defer func() {
		if p := recover(); p != nil {
			outcome.Status, outcome.Reason = RuleFailed, fmt.Sprintf("panic: %v at %s", p, panicSite(debug.Stack()))
			result = rules.Result{}
		}
	}()
	settings := e.config.Settings(rule)
	result, err := rule.Run(rules.Input{
		View:       snap.View(slices.Concat(rule.Needs, rule.Uses)...),
		Owner:      e.owners.of,
		Directions: settings.Directions,
		Exempt:     settings.Exempt,
		Previous:   e.previous.before,
	})
	if err != nil {
		outcome.Status, outcome.Reason = RuleFailed, err.Error()
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
