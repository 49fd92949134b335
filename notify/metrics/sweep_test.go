package metrics_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/metrics"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// values are the label values of a platform with two rules, two teams and two kinds.
func values() metrics.LabelValues {
	return metrics.LabelValues{
		Rules:   []string{"default-deny-present", "one-owner-per-host"},
		Owners:  []string{"platform", "team-a", "team-b"},
		Kinds:   []snapshot.Kind{snapshot.Ingresses, snapshot.Namespaces},
		Version: "v1.2.3",
	}
}

// finding returns a stored finding.
func finding(rule string, n int, state audit.State, now time.Time, owners ...string) audit.Transition {
	r := audit.Record{
		Finding: audit.Finding{
			ID: fmt.Sprintf("%s-%d", rule, n), Rule: rule, Severity: rules.High, Owners: owners, State: state,
			Subject: rules.Subject{Kind: rules.SubjectHost, Name: fmt.Sprintf("host-%d.example.com", n)},
		},
		OpenedAt: now.Add(-time.Duration(n) * time.Hour),
	}
	if state == audit.StateResolved {
		r.Reason, r.ResolvedAt = audit.ReasonResolved, now
	}
	return audit.Transition{Record: r}
}

// sweep returns a successful sweep with the given findings.
func sweep(now time.Time, found ...audit.Transition) *metrics.Sweep {
	deliveries := []audit.Delivery{{Sender: "slack", Owner: "team-a", Result: audit.DeliverySent}}
	return &metrics.Sweep{
		Began: now.Add(-3 * time.Second), Ended: now,
		Result: &audit.Result{
			Namespaces: []string{"apps", "shop"},
			Reads: []snapshot.Read{
				{Kind: snapshot.Ingresses, Status: snapshot.Listed, Items: 7},
				{Kind: snapshot.Namespaces, Status: snapshot.Listed, Items: 2},
			},
			Rules: []audit.Outcome{
				{Rule: "default-deny-present", Status: audit.RuleRan}, {Rule: "one-owner-per-host", Status: audit.RuleRan},
			},
			Exceptions: []audit.ExceptionUse{
				{Exception: config.Exception{Expires: config.Expiry{End: now.Add(48 * time.Hour)}}, Hidden: 1},
				{Exception: config.Exception{Expires: config.Expiry{End: now.Add(90 * 24 * time.Hour)}}, Unused: true},
				{Exception: config.Exception{Expires: config.Expiry{End: now.Add(-time.Hour)}}, Expired: true},
			},
			Deliveries: deliveries,
			Phases:     []audit.Phase{{Name: audit.PhaseRead, Took: 2 * time.Second}, {Name: audit.PhaseEvaluate, Took: time.Second}},
		},
		Published: &audit.Published{
			Transitions: found, Dropped: []string{"one-owner-per-host-9"},
			Deliveries: deliveries,
		},
		Clients: []metrics.Client{{Name: "source", Requests: 12, Retries: 2, Bytes: 4096}},
	}
}

// broken, halfResolved and clean are three sweeps of one cluster.
func broken(now time.Time) *metrics.Sweep {
	return sweep(now,
		finding("one-owner-per-host", 1, audit.StateOpen, now, "team-a", "stranger"),
		finding("one-owner-per-host", 2, audit.StateOpen, now, "team-a", "another", "stranger"),
		finding("default-deny-present", 5, audit.StateOpen, now, "team-b"),
		finding("default-deny-present", 3, audit.StatePending, now, "team-b"))
}

func halfResolved(now time.Time) *metrics.Sweep {
	return sweep(now,
		finding("one-owner-per-host", 1, audit.StateResolved, now, "team-a", "stranger"),
		finding("one-owner-per-host", 2, audit.StateOpen, now, "team-a", "another", "stranger"),
		finding("default-deny-present", 5, audit.StateResolved, now, "team-b"))
}

func clean(now time.Time) *metrics.Sweep { return sweep(now) }

// incomplete is a sweep that is not allowed to list ingresses and cannot deliver to Slack.
func incomplete(now time.Time) *metrics.Sweep {
	s := broken(now)
	s.Result.Reads[0] = snapshot.Read{Kind: snapshot.Ingresses, Status: snapshot.Forbidden, Err: "no right"}
	s.Result.Rules[1] = audit.Outcome{Rule: "one-owner-per-host", Status: audit.RuleSkipped, Reason: "ingresses forbidden"}
	s.Published.Deliveries[0].Result = audit.DeliveryFailed
	return s
}

// undelivered is a complete sweep without a successful delivery.
func undelivered(now time.Time) *metrics.Sweep {
	s := broken(now)
	s.Published.Deliveries[0].Result = audit.DeliveryRefused
	return s
}

// aborted is a sweep that ended before anything was evaluated.
func aborted(now time.Time) *metrics.Sweep {
	return &metrics.Sweep{Began: now.Add(-time.Second), Ended: now, Err: errors.New("publish: no route to host")}
}
