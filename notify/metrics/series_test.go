package metrics_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/e2e/promtest"
	"github.com/eventuallytrue/audit/notify/metrics"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// hostile is a sweep of a cluster with unknown owners, in which every name is unique.
func hostile(n int) *metrics.Sweep {
	s := broken(day)
	for i := range n {
		name := fmt.Sprintf("\"}\n\xff{owner-%d", i)
		f := finding("one-owner-per-host", i, audit.StateOpen, day, name, "namespace "+name)
		f.Record.Subject.Name = name
		f.Record.Rule = []string{f.Record.Rule, name}[i%2]
		f.Record.Severity = rules.Severity(1 + i%3)
		s.Published.Transitions = append(s.Published.Transitions, f)
		s.Published.Deliveries = append(s.Published.Deliveries, audit.Delivery{Sender: fmt.Sprintf("sender-%d", i), Owner: name, Result: audit.DeliveryFailed})
		s.Result.Reads = append(s.Result.Reads, snapshot.Read{Kind: snapshot.Kind("networkpolicies." + name), Status: snapshot.Listed, Items: 1})
	}
	s.Result.Deliveries = s.Published.Deliveries
	return s
}

// manyValues allows more owners and kinds than the limits.
func manyValues() metrics.LabelValues {
	v := values()
	for i := range 10_000 {
		v.Owners = append(v.Owners, fmt.Sprintf("team-%d", i))
		v.Kinds = append(v.Kinds, snapshot.Kind(fmt.Sprintf("kind-%d", i)))
	}
	return v
}

func TestPushOfAHostileClusterStaysSmall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		words metrics.LabelValues
		sweep func() *metrics.Sweep
	}{
		{"10,000 owners that the config does not name", values(), func() *metrics.Sweep { return hostile(10_000) }},
		{"10,000 owners that the config names, each with findings", manyValues(), func() *metrics.Sweep {
			s := hostile(10_000)
			for i := range 10_000 {
				s.Result.Reads = append(s.Result.Reads, snapshot.Read{Kind: snapshot.Kind(fmt.Sprintf("kind-%d", i)), Status: snapshot.Listed})
				for n, rule := range values().Rules {
					s.Published.Transitions = append(s.Published.Transitions, finding(rule, 10*i+n, audit.StateOpen, day, fmt.Sprintf("team-%d", i)))
				}
			}
			return s
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			real := promtest.StartPushgateway(t)
			g, err := metrics.NewPusher(metrics.Options{URL: real.URL}, "prod", tt.words)
			if err != nil {
				t.Fatal(err)
			}
			sweep := tt.sweep()
			sweep.Published.Deliveries = sweep.Published.Deliveries[:0]
			push(t, g, sweep)
			series := real.Series()
			if len(series) >= 500 || len(series) < 50 {
				t.Errorf("%d series were pushed", len(series))
			}
			for _, s := range series {
				if strings.Contains(s, "owner-1") || strings.Contains(s, "host-") {
					t.Errorf("%s contains a name from the cluster", s)
				}
			}
			want := `audit_owner_findings{cluster="prod",job="audit",owner="other",rule="other"} 5000`
			if !strings.Contains(strings.Join(series, "\n"), want) {
				t.Errorf("owners that are not named are not counted: want %s in\n%s", want, strings.Join(series, "\n"))
			}
		})
	}
}

func TestPushOfManySendersStaysSmall(t *testing.T) {
	real := promtest.StartPushgateway(t)
	push(t, pusher(t, metrics.Options{URL: real.URL}, "prod"), hostile(10_000))
	n := 0
	for _, s := range real.Series() {
		if strings.HasPrefix(s, "audit_deliveries{") {
			n++
		}
	}
	if n != 24 {
		t.Errorf("%d series of deliveries, want 4 results of 5 senders and other", n)
	}
}

// manifestOf returns a cluster of namespaces that each have their own owner, a
// workload without isolation, and a host that another namespace claims too.
func manifestOf(namespaces int) string {
	var b strings.Builder
	for i := range namespaces {
		fmt.Fprintf(&b, `---
{apiVersion: v1, kind: Namespace, metadata: {name: ns-%[1]d, labels: {team: owner-%[1]d}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: ns-%[1]d}, spec: {containers: [{name: c, image: i}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: i, namespace: ns-%[1]d}, spec: {rules: [{host: h%[2]d.example.com}]}}
`, i, i/2)
	}
	return b.String()
}

// Unlike in the tests above, every rule runs and every kind is read.
func TestPushOfARealSweepOfAHostileClusterStaysSmall(t *testing.T) {
	const namespaces = 10_000
	c := config.Default()
	words := metrics.LabelValues{Kinds: audit.Needs(catalog.All()), Version: "v1"}
	for _, r := range catalog.All() {
		words.Rules = append(words.Rules, r.Name)
	}
	for _, s := range hostsource.BuiltIn() {
		words.Kinds = append(words.Kinds, s.Kind)
	}
	for i := range namespaces / 2 {
		words.Owners = append(words.Owners, fmt.Sprintf("owner-%d", 2*i))
	}
	src := &manifests.Source{Paths: []string{"-"}, Stdin: strings.NewReader(manifestOf(namespaces)), OwnerKeys: c.Owners.Keys, HostSources: c.EnabledHostSources()}
	res, err := audit.Sweep(t.Context(), src, catalog.All(), &c, time.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !res.Complete() || len(res.Findings) < 2*namespaces {
		t.Fatalf("complete: %t, with %d findings; problems: %.500v", res.Complete(), len(res.Findings), res.Problems)
	}
	s := &metrics.Sweep{Began: res.Started, Ended: res.Finished, Result: res, Published: &audit.Published{}}
	for _, f := range res.Findings {
		s.Published.Transitions = append(s.Published.Transitions, audit.Transition{Record: audit.Record{Finding: f, OpenedAt: f.FirstSeen}})
	}
	real := promtest.StartPushgateway(t)
	g, err := metrics.NewPusher(metrics.Options{URL: real.URL}, "prod", words)
	if err != nil {
		t.Fatal(err)
	}
	push(t, g, s)
	series := real.Series()
	t.Logf("%d findings are %d series", len(res.Findings), len(series))
	if len(series) >= 500 || len(series) < 200 {
		t.Errorf("%d series were pushed", len(series))
	}
	all := strings.Join(series, "\n")
	for _, want := range []string{`owner="owner-0"`, `owner="other"`} {
		if !strings.Contains(all, want) {
			t.Errorf("no series has %s", want)
		}
	}
	if strings.Contains(all, "ns-1") || strings.Contains(all, `owner-1"`) || strings.Contains(all, "example.com") {
		t.Errorf("names from the cluster are pushed:\n%s", all)
	}
}
