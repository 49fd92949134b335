package audit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestFindingKeepsTheTimeItWasFirstSeen(t *testing.T) {
	subject := namespaceSubject("shop", "")
	probe := &rules.Rule{
		Name: "probe", Severity: rules.Low, Needs: []snapshot.Kind{snapshot.Namespaces},
		Run: func(in rules.Input) (rules.Result, error) {
			return rules.Result{Violations: []rules.Violation{{Subject: subject}}}, nil
		},
	}
	var b snapshot.Builder
	b.Add(snapshot.Facts{}, snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Listed})
	snap := b.Freeze()
	for _, c := range []struct {
		name string
		seen map[string]time.Time
		want time.Time
	}{
		{"seen by no earlier sweep, it is seen now", nil, now},
		{"seen before, it keeps that time", map[string]time.Time{rules.ID("probe", subject): now.Add(-time.Hour)}, now.Add(-time.Hour)},
		{"a time to come is not believed", map[string]time.Time{rules.ID("probe", subject): now.Add(time.Hour)}, now},
		{"another finding's time is not its own", map[string]time.Time{"probe-0": now.Add(-time.Hour)}, now},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := parse(t, "")
			ev := audit.Evaluate(snap, []*rules.Rule{probe}, config, now, &audit.Previous{FirstSeen: c.seen})
			if got := ev.Findings[0].FirstSeen; !got.Equal(c.want) {
				t.Errorf("first seen %s, want %s", got, c.want)
			}
		})
	}
}

func TestRuleIsToldWhatAnEarlierSweepSaw(t *testing.T) {
	earlier := &audit.Previous{At: now, Isolation: map[string]rules.Isolation{
		"shop":   {Ingress: rules.Present, Egress: rules.Missing},
		"closed": {Ingress: rules.Present, NotEvaluated: []string{"policies"}},
	}}
	var got []rules.Previous
	probe := &rules.Rule{
		Name: "probe", Severity: rules.Low, Needs: []snapshot.Kind{snapshot.Namespaces},
		Run: func(in rules.Input) (rules.Result, error) {
			got = append(got, in.Previous("shop", snapshot.DirectionIngress), in.Previous("shop", snapshot.DirectionEgress),
				in.Previous("closed", snapshot.DirectionIngress), in.Previous("other", snapshot.DirectionIngress))
			return rules.Result{}, nil
		},
	}
	var b snapshot.Builder
	b.Add(snapshot.Facts{}, snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Listed})
	audit.Evaluate(b.Freeze(), []*rules.Rule{probe}, parse(t, ""), now, earlier)
	want := []rules.Previous{{State: rules.Present, At: now}, {State: rules.Missing, At: now}, {}, {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}
