package audit_test

import (
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestResultComplete(t *testing.T) {
	for _, c := range []struct {
		name   string
		spoil  func(*audit.Result)
		isHalf bool
	}{
		{name: "everything was listed or is absent, and every rule ran", spoil: func(*audit.Result) {}},
		{name: "findings leave it complete", spoil: func(r *audit.Result) { r.Findings = make([]audit.Finding, 3) }},
		{name: "objects that no rule needs leave it complete", spoil: func(r *audit.Result) { r.Ignored = make([]audit.IgnoredKind, 3) }},
		{name: "a problem spoils it", isHalf: true, spoil: func(r *audit.Result) { r.Problems = make([]audit.Problem, 1) }},
		{name: "a forbidden kind spoils it", isHalf: true, spoil: func(r *audit.Result) { r.Reads[1].Status = snapshot.Forbidden }},
		{name: "a kind that failed spoils it", isHalf: true, spoil: func(r *audit.Result) { r.Reads[0].Status = snapshot.Failed }},
		{name: "a rule that was skipped spoils it", isHalf: true, spoil: func(r *audit.Result) { r.Rules[1].Status = audit.RuleSkipped }},
		{name: "a rule that failed spoils it", isHalf: true, spoil: func(r *audit.Result) { r.Rules[0].Status = audit.RuleFailed }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &audit.Result{
				Reads: []snapshot.Read{{Kind: snapshot.Pods, Status: snapshot.Listed}, {Kind: snapshot.Ingresses, Status: snapshot.Absent}},
				Rules: []audit.Outcome{{Rule: "a", Status: audit.RuleRan}, {Rule: "b", Status: audit.RuleRan}},
			}
			c.spoil(r)
			if r.Complete() == c.isHalf {
				t.Errorf("complete: %t", r.Complete())
			}
		})
	}
}

func TestResultWorst(t *testing.T) {
	for _, c := range []struct {
		name string
		of   []rules.Severity
		want rules.Severity
	}{
		{"is none without findings", nil, 0},
		{"is that of the only finding", []rules.Severity{rules.Low}, rules.Low},
		{"is the highest, wherever it is", []rules.Severity{rules.Low, rules.High, rules.Medium}, rules.High},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r audit.Result
			for _, s := range c.of {
				r.Findings = append(r.Findings, audit.Finding{Severity: s})
			}
			if got := r.Worst(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
