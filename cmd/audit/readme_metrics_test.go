package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/metrics"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestREADMEMetrics(t *testing.T) {
	table := metricsTable(t)
	t.Chdir(moduleRoot)
	checkREADME(t, "metrics", table)
}

// metricsTable has the metrics of sweeps, by name.
func metricsTable(t *testing.T) string {
	t.Helper()
	board := metrics.NewExporter("prod", metrics.LabelValues{Rules: []string{"r"}})
	board.Update(eventfulSweep())
	families, err := board.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| metric | labels beside `cluster` | meaning |\n|---|---|---|\n")
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "audit_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			if l.GetName() != "cluster" {
				labels = append(labels, "`"+l.GetName()+"`")
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.GetName(), strings.Join(labels, ", "), cell(f.GetHelp()))
	}
	return b.String()
}

// eventfulSweep is a sweep with a value for every metric.
func eventfulSweep() *metrics.Sweep {
	record := func(state audit.State) audit.Transition {
		return audit.Transition{Record: audit.Record{
			Finding: audit.Finding{Rule: "r", Severity: rules.High, Owners: []string{"o"}, State: state},
			Reason:  audit.ReasonResolved, OpenedAt: today, ResolvedAt: today,
		}}
	}
	return &metrics.Sweep{
		Began: today, Ended: today,
		Result: &audit.Result{
			Reads:      []snapshot.Read{{Kind: snapshot.Pods, Status: snapshot.Listed}},
			Rules:      []audit.Outcome{{Rule: "r", Status: audit.RuleRan}},
			Exceptions: []audit.ExceptionUse{{Exception: config.Exception{Expires: config.Expiry{End: today}}}},
			Phases:     []audit.Phase{{Name: audit.PhaseRead, Took: time.Second}},
		},
		Published: &audit.Published{
			Transitions: []audit.Transition{record(audit.StateOpen), record(audit.StateResolved)},
			Deliveries:  []audit.Delivery{{Sender: "s", Result: audit.DeliverySent}},
		},
		Clients: []metrics.Client{{Name: "source"}},
	}
}
