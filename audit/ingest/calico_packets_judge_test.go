package ingest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// packetCluster is a small cluster with random policies.
type packetCluster struct {
	policies []packetPolicy
	tiers    map[string]packetTier
	pods     []*packetPod
}

func randomCluster(seed uint64) packetCluster {
	r := rand.New(rand.NewPCG(seed, 1))
	c := packetCluster{tiers: randomTiers(r), pods: packetPods()}
	for i := range 1 + r.IntN(5) {
		c.policies = append(c.policies, randomPolicy(r, fmt.Sprintf("p%d", i)))
	}
	return c
}

// facts takes in the manifests of the cluster and returns them, too.
func (c *packetCluster) facts(t *testing.T) (snapshot.Facts, string) {
	t.Helper()
	customs := map[snapshot.Kind]ingest.Custom{}
	for _, custom := range ingest.Customs() {
		customs[custom.Kind] = custom
	}
	in := ingest.New(nil)
	var facts snapshot.Facts
	var text strings.Builder
	take := func(kind snapshot.Kind, o map[string]any) {
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "%s %s\n", kind, data)
		custom := customs[kind]
		if err := custom.Take(in, data, &facts); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"default", "t1", "t2", "t3"} {
		spec := map[string]any{}
		if tier := c.tiers[name]; !math.IsInf(tier.order, 1) {
			spec["order"] = tier.order
		}
		if c.tiers[name].passes {
			spec["defaultAction"] = "Pass"
		}
		take(snapshot.CalicoTiers, map[string]any{"metadata": map[string]any{"name": name}, "spec": spec})
	}
	for _, p := range c.policies {
		kind := snapshot.CalicoGlobalNetworkPolicies
		if p.namespace != "" {
			kind = snapshot.CalicoNetworkPolicies
		}
		take(kind, p.object())
	}
	for _, name := range []string{"a", "b", "c"} {
		labels := map[string]string{"kubernetes.io/metadata.name": name}
		if name == "b" {
			labels["tier"] = "gold"
		}
		meta := snapshot.Meta{Kind: "Namespace", Namespace: name, Name: name}
		facts.Namespaces = append(facts.Namespaces, snapshot.Namespace{Meta: meta, Labels: snapshot.NewLabels(labels)})
	}
	for _, p := range c.pods {
		meta := snapshot.Meta{Kind: "Pod", Namespace: p.namespace, Name: p.name}
		facts.Pods = append(facts.Pods, snapshot.Pod{Meta: meta, Labels: snapshot.NewLabels(p.labels)})
	}
	return facts, text.String()
}

// judged lets default-deny-present judge facts. It returns the reasons of the
// exposed pods, and the violations, by direction and name.
func judged(t *testing.T, facts snapshot.Facts) (exposed, violations map[string]string) {
	t.Helper()
	rule := isolation.Rule()
	var b snapshot.Builder
	var reads []snapshot.Read
	for _, kind := range rule.Needs {
		reads = append(reads, snapshot.Read{Kind: kind, Status: snapshot.Listed})
	}
	b.Add(facts, reads...)
	result, err := rule.Run(rules.Input{
		View:       b.Freeze().View(rule.Needs...),
		Owner:      func(*snapshot.Meta) rules.Owner { return rules.Owner{} },
		Directions: []snapshot.Direction{snapshot.DirectionIngress, snapshot.DirectionEgress},
		Exempt:     func(string) bool { return false },
	})
	if err != nil {
		t.Fatal(err)
	}
	exposed, violations = map[string]string{}, map[string]string{}
	for _, row := range result.Isolation {
		for _, e := range row.Exposed {
			if e.Direction != "egress" {
				exposed["Ingress "+row.Namespace+"/"+e.Name] = e.Reason
			}
			if e.Direction != "ingress" {
				exposed["Egress "+row.Namespace+"/"+e.Name] = e.Reason
			}
		}
	}
	for _, v := range result.Violations {
		violations[v.Subject.Detail+" "+v.Subject.Name] = v.Verdict
	}
	return exposed, violations
}

// reach returns whether a pod can be reached from, or reach, every pod and every
// address outside by TCP on every port, and whether anything at all by any port.
func (c *packetCluster) reach(direction string, pod *packetPod) (cluster, world, anything bool) {
	cluster, world = true, true
	for _, port := range []int{1, 80, 443, 65535} {
		p := packet{direction: direction, pod: pod, protocol: "TCP", port: port}
		for _, p.other = range c.pods {
			p.addr = p.other.addr
			ok := arrives(p, c.policies, c.tiers)
			cluster, anything = cluster && ok, anything || ok
			p.protocol = "UDP"
			anything = anything || arrives(p, c.policies, c.tiers)
			p.protocol = "TCP"
		}
		p.other = nil
		for _, outside := range []string{"1.1.1.1", "203.0.113.9"} {
			p.addr = netip.MustParseAddr(outside)
			ok := arrives(p, c.policies, c.tiers)
			world, anything = world && ok, anything || ok
			p.protocol = "UDP"
			anything = anything || arrives(p, c.policies, c.tiers)
			p.protocol = "TCP"
		}
	}
	return cluster, world, anything
}

// checkPackets holds the rule against every packet of a random cluster: what is
// open to all pods or to all the world must be called open, what nothing reaches
// must not, and nothing is open without a finding.
func checkPackets(t *testing.T, seed uint64) {
	t.Helper()
	c := randomCluster(seed)
	facts, text := c.facts(t)
	exposed, violations := judged(t, facts)
	for _, pod := range c.pods {
		for _, direction := range []string{"Ingress", "Egress"} {
			name := direction + " " + pod.namespace + "/" + pod.name
			cluster, world, anything := c.reach(direction, pod)
			reason := exposed[name]
			switch {
			case reason == "" && (cluster || world):
				t.Fatalf("seed %d: %s is open (cluster %t, world %t) and not called so\n%s", seed, name, cluster, world, text)
			case reason != "" && !anything:
				t.Fatalf("seed %d: %s is closed and called %s\n%s", seed, name, reason, text)
			case reason != "" && violations[direction+" "+pod.namespace] == "":
				t.Fatalf("seed %d: %s is called %s and nothing is found\n%s", seed, name, reason, text)
			}
		}
	}
}

func TestCalicoVerdictsHoldAgainstPackets(t *testing.T) {
	for seed := range uint64(600) {
		checkPackets(t, seed)
	}
}

func FuzzCalicoVerdicts(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(func(t *testing.T, seed uint64) { checkPackets(t, seed) })
}
