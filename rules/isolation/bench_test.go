package isolation_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// BenchmarkIsolation judges clusters of ten thousand policies from the moment at
// which the last page was read. Each must take less than two seconds.
func BenchmarkIsolation(b *testing.B) {
	for _, c := range []struct {
		name  string
		facts func() snapshot.Facts
	}{
		{"a policy in each of 10,000 namespaces", func() snapshot.Facts { return spreadPolicies(10_000, 50_000) }},
		{"10,000 policies in one namespace, each for an app", func() snapshot.Facts { return crowd(10_000, 50_000, forOneApp) }},
		{"10,000 policies in one namespace, each for all pods", func() snapshot.Facts { return crowd(10_000, 50_000, forEveryPod) }},
		{"10,000 policies in one namespace, a hundred of them for all pods", func() snapshot.Facts { return crowd(10_000, 50_000, forOneAppOrAll) }},
		{"10,000 policies in one namespace, each for those that have a label", func() snapshot.Facts { return crowd(10_000, 50_000, forThoseWithALabel) }},
		{"10,000 policies in one namespace, each with an allow-all", func() snapshot.Facts { return crowd(10_000, 50_000, forOneAppOpen) }},
		{"10,000 cluster-wide policies, each for some namespaces", func() snapshot.Facts { return clusterWide(10_000, 10_000, forSomeNamespaces) }},
		{"10,000 cluster-wide policies, each for all namespaces", func() snapshot.Facts { return clusterWide(10_000, 10_000, forEveryNamespace) }},
		{"100 cluster-wide policies for each of 10,000 namespaces", func() snapshot.Facts { return clusterWide(100, 10_000, forEveryNamespace) }},
		{"100 cluster-wide policies for all pods of 10,000 namespaces with policies of their own", func() snapshot.Facts {
			f := clusterWide(100, 10_000, forEverybody)
			f.Policies = append(f.Policies, spreadPolicies(10_000, 0).Policies...)
			return f
		}},
		{"10,000 policies in one of 10,000 namespaces, each open to all but one of them", func() snapshot.Facts { return openToOthers(allButOneNamespace) }},
		{"10,000 policies in one of 10,000 namespaces, each open to all but one app", func() snapshot.Facts { return openToOthers(allButOneApp) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			f := c.facts()
			for b.Loop() {
				runIsolation(b, f)
			}
		})
	}
}

// runIsolation freezes facts and judges them.
func runIsolation(b *testing.B, f snapshot.Facts) {
	rule := isolation.Rule()
	// To freeze them sorts them in place.
	f.Namespaces, f.Policies, f.Pods = slices.Clone(f.Namespaces), slices.Clone(f.Policies), slices.Clone(f.Pods)
	var builder snapshot.Builder
	builder.Add(f)
	directions := snapshot.Directions()
	res, err := rule.Run(rules.Input{
		View:       builder.Freeze().View(slices.Concat(rule.Needs, rule.Uses)...),
		Owner:      func(m *snapshot.Meta) rules.Owner { return rules.Owner{Name: m.Namespace} },
		Directions: directions[:],
		Exempt:     func(string) bool { return false },
	})
	if err != nil || len(res.Isolation) == 0 {
		b.Fatal(len(res.Isolation), err)
	}
}

func benchNamespace(i int) snapshot.Namespace {
	name := fmt.Sprintf("team-%d", i)
	return snapshot.Namespace{Meta: snapshot.Meta{Kind: "Namespace", Name: name}, Labels: snapshot.NewLabels(map[string]string{
		"kubernetes.io/metadata.name": name, "team": fmt.Sprintf("t%d", i%1000), "env": "prod",
	})}
}

// benchPod returns a pod of an app, which like those of a StatefulSet shares its
// labels with no other.
func benchPod(namespace, app string, i int) snapshot.Pod {
	name := fmt.Sprintf("%s-%d", app, i)
	return snapshot.Pod{Meta: snapshot.Meta{Kind: "Pod", Namespace: namespace, Name: name}, Labels: snapshot.NewLabels(map[string]string{
		"app": app, "tier": "front", "statefulset.kubernetes.io/pod-name": name, "client-of-" + app: "",
	})}
}

// benchPolicy returns a NetworkPolicy for some pods: DNS for everybody, and in
// from an app of the namespace and from a namespace.
func benchPolicy(namespace string, i int, pods snapshot.Selector) snapshot.Policy {
	p := snapshot.Policy{
		Meta: snapshot.Meta{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: namespace, Name: fmt.Sprintf("p%d", i)},
		Tier: snapshot.TierDefault, Order: snapshot.OrderNetworkPolicy, Isolates: [2]bool{true, true},
		Subject: snapshot.Subject{{OwnNamespace: true, Pods: pods}},
	}
	p.Rules[snapshot.DirectionIngress] = []snapshot.Rule{{
		Peers: snapshot.Peers{Pods: []snapshot.PodPeer{
			{OwnNamespace: true, Pods: in("app", fmt.Sprintf("app-%d", i+1))}, {Namespaces: in("team", fmt.Sprintf("t%d", i%1000))},
		}},
		Ports: snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.TCP, First: 8080, Last: 8080}}},
	}, {
		Peers: snapshot.Peers{Pods: []snapshot.PodPeer{{Namespaces: in("kubernetes.io/metadata.name", "monitoring")}}},
		Ports: snapshot.Ports{All: true},
	}}
	p.Rules[snapshot.DirectionEgress] = []snapshot.Rule{{
		Peers: snapshot.Peers{Pods: []snapshot.PodPeer{{}}},
		Ports: snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.UDP, First: 53, Last: 53}}},
	}}
	return p
}

func in(key string, values ...string) snapshot.Selector {
	return snapshot.Selector{{Key: key, Op: snapshot.In, Values: values}}
}

// spreadPolicies returns policies and pods evenly in ten thousand namespaces.
func spreadPolicies(policies, pods int) (f snapshot.Facts) {
	const namespaces = 10_000
	for i := range namespaces {
		f.Namespaces = append(f.Namespaces, benchNamespace(i))
	}
	for i := range policies {
		var selector snapshot.Selector
		if i%4 == 3 {
			selector = in("app", fmt.Sprintf("app-%d", i))
		}
		f.Policies = append(f.Policies, benchPolicy(f.Namespaces[i%namespaces].Name, i, selector))
	}
	for i := range pods {
		f.Pods = append(f.Pods, benchPod(f.Namespaces[i%namespaces].Name, fmt.Sprintf("app-%d", i%policies), i))
	}
	return f
}

// crowd returns policies and pods all in one namespace.
func crowd(policies, pods int, policy func(i int) snapshot.Policy) (f snapshot.Facts) {
	f.Namespaces = append(f.Namespaces, benchNamespace(0))
	for i := range policies {
		f.Policies = append(f.Policies, policy(i))
	}
	for i := range pods {
		f.Pods = append(f.Pods, benchPod("team-0", fmt.Sprintf("app-%d", i%policies), i))
	}
	return f
}

func forOneApp(i int) snapshot.Policy {
	return benchPolicy("team-0", i, in("app", fmt.Sprintf("app-%d", i)))
}

func forEveryPod(i int) snapshot.Policy { return benchPolicy("team-0", i, nil) }

func forOneAppOrAll(i int) snapshot.Policy {
	if i%100 == 0 {
		return forEveryPod(i)
	}
	return forOneApp(i)
}

func forThoseWithALabel(i int) snapshot.Policy {
	return benchPolicy("team-0", i, snapshot.Selector{{Key: fmt.Sprintf("client-of-app-%d", i), Op: snapshot.Exists}})
}

func forOneAppOpen(i int) snapshot.Policy {
	p := forOneApp(i)
	p.Rules[snapshot.DirectionIngress] = []snapshot.Rule{{Peers: snapshot.Peers{Everyone: true}, Ports: snapshot.Ports{All: true}}}
	return p
}

// clusterWide returns policies without namespace and five pods in each namespace.
func clusterWide(policies, namespaces int, subject func(i int) snapshot.PodPeer) (f snapshot.Facts) {
	for i := range namespaces {
		f.Namespaces = append(f.Namespaces, benchNamespace(i))
		for k := range 5 {
			f.Pods = append(f.Pods, benchPod(f.Namespaces[i].Name, fmt.Sprintf("app-%d", i), k))
		}
	}
	for i := range policies {
		p := benchPolicy("", i, nil)
		p.Group, p.Kind = "cilium.io", "CiliumClusterwideNetworkPolicy"
		p.Subject = snapshot.Subject{subject(i)}
		p.Rules[snapshot.DirectionIngress] = p.Rules[snapshot.DirectionIngress][1:]
		f.Policies = append(f.Policies, p)
	}
	return f
}

func forSomeNamespaces(i int) snapshot.PodPeer {
	return snapshot.PodPeer{Namespaces: in("team", fmt.Sprintf("t%d", i%1000))}
}

func forEveryNamespace(i int) snapshot.PodPeer {
	return snapshot.PodPeer{Pods: in("app", fmt.Sprintf("app-%d", i))}
}

// openToOthers returns ten thousand namespaces with five pods each, and as many policies
// of one of them that each leave out a few pods.
func openToOthers(from func(i int) snapshot.PodPeer) (f snapshot.Facts) {
	f = spreadPolicies(10_000, 50_000)
	for i := range f.Policies {
		f.Policies[i] = forOneApp(i)
		f.Policies[i].Rules[snapshot.DirectionIngress] = []snapshot.Rule{{
			Peers: snapshot.Peers{Pods: []snapshot.PodPeer{from(i)}}, Ports: snapshot.Ports{All: true},
		}}
	}
	return f
}

func allButOneNamespace(i int) snapshot.PodPeer {
	return snapshot.PodPeer{Namespaces: snapshot.Selector{in("team", fmt.Sprintf("t%d", i%1000))[0].Not()}}
}

func allButOneApp(i int) snapshot.PodPeer {
	return snapshot.PodPeer{Pods: snapshot.Selector{in("app", fmt.Sprintf("app-%d", i))[0].Not()}}
}

func forEverybody(int) snapshot.PodPeer { return snapshot.PodPeer{} }
