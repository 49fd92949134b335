package hosts_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// BenchmarkHostsOfGateways judges a hundred thousand routes that each ask for all
// listeners of a full Gateway, and ten thousand ListenerSets.
func BenchmarkHostsOfGateways(b *testing.B) {
	rule := hosts.Rule()
	snap := manyRoutes(100_000, 10_000)
	owner := func(m *snapshot.Meta) rules.Owner { return rules.Owner{Name: m.Namespace} }
	for b.Loop() {
		res, err := rule.Run(rules.Input{View: snap.View(slices.Concat(rule.Needs, rule.Uses)...), Owner: owner})
		if err != nil || len(res.Violations) == 0 {
			b.Fatal(len(res.Violations), err)
		}
	}
}

// manyRoutes returns that many routes and sets in a thousand namespaces on ten
// Gateways. One in a hundred hosts is claimed twice.
func manyRoutes(routes, sets int) *snapshot.Snapshot {
	var f snapshot.Facts
	namespace := func(i int) string { return fmt.Sprintf("team-%d", i%1000) }
	gateway := func(i int) sketchID { return sketchID{"Gateway", "platform", fmt.Sprintf("edge-%d", i%10)} }
	edge := snapshot.Selector{{Key: "edge", Op: snapshot.In, Values: []string{"yes"}}}
	for i := range 1000 {
		f.Namespaces = append(f.Namespaces, snapshot.Namespace{
			Meta: snapshot.Meta{Kind: "Namespace", Name: namespace(i)}, Labels: snapshot.NewLabels(map[string]string{"edge": "yes"}),
		})
	}
	for i := range 10 {
		g := snapshot.Gateway{Meta: gateway(i).meta(false), AllowedListeners: snapshot.AllowedNamespaces{From: snapshot.NamespacesAll}}
		for l := range 64 {
			g.Listeners = append(g.Listeners, snapshot.Listener{
				Name: fmt.Sprintf("l%d", l), Protocol: "HTTPS", Hostname: fmt.Sprintf("*.zone-%d.example.com", l),
				AllowedRoutes: snapshot.AllowedNamespaces{From: snapshot.NamespacesSelector, Selector: edge},
			})
		}
		f.Gateways = append(f.Gateways, g)
	}
	for i := range routes {
		r := snapshot.Route{Meta: sketchID{"HTTPRoute", namespace(i), fmt.Sprintf("r%d", i)}.meta(false)}
		r.Parents = []snapshot.ParentRef{{Ref: gateway(i).ref()}}
		host := i
		if i%100 == 1 {
			host--
		}
		r.Hostnames = []string{fmt.Sprintf("h%d.zone-%d.example.com", host, host%64)}
		f.Routes = append(f.Routes, r)
	}
	for i := range sets {
		f.ListenerSets = append(f.ListenerSets, snapshot.ListenerSet{
			Meta: sketchID{"ListenerSet", namespace(i), fmt.Sprintf("s%d", i)}.meta(false), Parent: gateway(i).ref(),
			Listeners: []snapshot.Listener{{Name: "own", Protocol: "HTTPS", Hostname: fmt.Sprintf("own%d.example.com", i)}},
		})
	}
	var b snapshot.Builder
	b.Add(f)
	return b.Freeze()
}
