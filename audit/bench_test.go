package audit_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/e2e/bench/estate"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// estateFacts are the facts of an estate, in the order in which an API server lists
// its objects.
func estateFacts(s estate.Size, c *config.Config) (f snapshot.Facts) {
	in := ingest.New(c.Owners.Keys)
	born := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for i := range s.Namespaces {
		o := s.Namespace(i)
		estate.Stamp(o, i, born)
		f.Namespaces = append(f.Namespaces, in.Namespace(o))
	}
	for i := range s.Ingresses {
		o := s.Ingress(i)
		estate.Stamp(o, i, born.Add(time.Duration(i)*time.Second))
		f.Ingresses = append(f.Ingresses, in.Ingress(o))
	}
	for i := range s.Deployments {
		o := s.Deployment(i)
		estate.Stamp(o, i, born)
		f.Workloads = append(f.Workloads, in.Deployment(o))
	}
	for i := range s.Pods {
		o := s.Pod(i)
		estate.Stamp(o, i, born)
		f.Pods = append(f.Pods, in.Pod(o))
	}
	for i := range s.Policies {
		o := s.Policy(i)
		estate.Stamp(o, i, born)
		f.Policies = append(f.Policies, in.NetworkPolicy(o))
	}
	return f
}

func TestEstateHasTheFindingsThatItsSizeSays(t *testing.T) {
	c := config.Default()
	size := estate.Size{Namespaces: 100, Ingresses: 230, Contested: 30, Deployments: 200, Pods: 50, Policies: 90}
	found := map[string]int{}
	for _, f := range audit.Evaluate(freeze(estateFacts(size, &c)), catalog.All(), &c, now, nil).Findings {
		found[f.Rule]++
	}
	// One for each direction of traffic.
	want := map[string]int{"one-owner-per-host": 30, "default-deny-present": 2 * 10}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("findings by rule (-want +got):\n%s", diff)
	}
}

// BenchmarkFreeze sorts the facts of the estate by which targets are set. They are
// sorted in place, so from the second time on they are in order.
func BenchmarkFreeze(b *testing.B) {
	c := config.Default()
	size := estate.Default()
	f := estateFacts(size, &c)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		var again snapshot.Facts
		again.Append(f)
		b.StartTimer()
		freeze(again)
	}
	b.ReportMetric(float64(size.Objects()), "objects/op")
}

// BenchmarkEvaluate evaluates all rules on the estates that the targets refer to.
func BenchmarkEvaluate(b *testing.B) {
	for name, size := range map[string]estate.Size{"default": estate.Default(), "large": estate.Large()} {
		b.Run(name, func(b *testing.B) {
			c := config.Default()
			snap := freeze(estateFacts(size, &c))
			b.ReportAllocs()
			for b.Loop() {
				audit.Evaluate(snap, catalog.All(), &c, now, nil)
			}
			b.ReportMetric(float64(size.Objects()), "objects/op")
		})
	}
}

// BenchmarkReconcile holds a thousand findings against the same that are stored.
func BenchmarkReconcile(b *testing.B) {
	ev, stored := steadyState(1000)
	r := audit.Reconciler{Now: now, Hold: atOnce, MaxNew: 1 << 20}
	b.ReportAllocs()
	for b.Loop() {
		r.Reconcile(stored, &ev)
	}
}

// steadyState is an evaluation that finds so many things, and what is stored of them.
func steadyState(findings int) (audit.Evaluation, []audit.Record) {
	c := config.Default()
	size := estate.Size{Namespaces: 1000, Ingresses: 4 * findings, Contested: findings}
	ev := audit.Evaluate(freeze(estateFacts(size, &c)), catalog.All(), &c, now, nil)
	var stored []audit.Record
	for _, t := range (audit.Reconciler{Now: now, Hold: atOnce, MaxNew: 1 << 20}).Reconcile(nil, &ev) {
		stored = append(stored, t.Record)
	}
	return ev, stored
}

func atOnce(string) audit.Hold { return audit.Hold{} }

// Time differs with the machine and what else it does, allocations do not. These are
// for each object of an estate of half the size by which targets are set.
func TestAllocationsOfEvaluating(t *testing.T) {
	c := config.Default()
	size := estate.Size{Namespaces: 500, Ingresses: 5000, Contested: 25, Deployments: 2500, Pods: 2500, Policies: 480}
	facts := estateFacts(size, &c)
	snap := freeze(facts)
	ev, stored := steadyState(500)
	r := audit.Reconciler{Now: now, Hold: atOnce, MaxNew: 1 << 20}
	for _, c := range []struct {
		name string
		of   int
		most float64
		run  func()
	}{
		{"facts are frozen", size.Objects(), 0.1, func() { freeze(facts) }},
		{"an estate is evaluated", size.Objects(), 13, func() { audit.Evaluate(snap, catalog.All(), &c, now, nil) }},
		{"findings are held against what is stored", len(stored), 2, func() { r.Reconcile(stored, &ev) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			each := testing.AllocsPerRun(3, c.run) / float64(c.of)
			t.Logf("%.2f allocations for each", each)
			if each > c.most {
				t.Errorf("%.2f allocations for each, want at most %.1f", each, c.most)
			}
		})
	}
}
