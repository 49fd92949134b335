package hosts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// BenchmarkHosts evaluates clusters with a hundred thousand claims, after the last
// page was read. Each must take less than two seconds.
func BenchmarkHosts(b *testing.B) {
	const claims = 100_000
	for _, c := range []struct {
		name string
		host func(i int) string
	}{
		{"hosts in a thousand zones, each under a wildcard", func(i int) string {
			if i < 1000 {
				return fmt.Sprintf("*.zone-%d.example.com", i)
			}
			return fmt.Sprintf("h%d.zone-%d.example.com", i, i%1000)
		}},
		{"one host in a hundred claimed twice", func(i int) string {
			if i%100 == 1 {
				i--
			}
			return fmt.Sprintf("h%d.example.com", i)
		}},
		{"hosts under one wildcard that a thousand claim", func(i int) string {
			if i < 1000 {
				return "*.example.com"
			}
			return fmt.Sprintf("h%d.example.com", i)
		}},
		{"a host that half of them claim, under a wildcard of the others", func(i int) string {
			return []string{"shop.example.com", "*.example.com"}[i%2]
		}},
		{"one host that all claim", func(int) string { return "shop.example.com" }},
		{"hosts of many labels", func(i int) string {
			return fmt.Sprintf("h%d.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.example.com", i)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			f := ingressFacts(claims, c.host)
			for b.Loop() {
				runHosts(b, f)
			}
		})
	}
}

// BenchmarkExpressions compares a hundred regular expressions with ten thousand hosts of
// others. Each must take less than two seconds.
func BenchmarkExpressions(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"in zones of their own", `^[a-z0-9-]+\.zone-%d\.example\.com$`},
		{"without an end", `^shop-%d[a-z]*\.`},
		{"without an anchor", `x%d.*y`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			f := ingressFacts(10_000, func(i int) string { return fmt.Sprintf("h%d.zone-%d.example.com", i, i%1000) })
			for i := range 100 {
				f.Ingresses = append(f.Ingresses, aliased(fmt.Sprintf("tenant-%d", i), "x", snapshot.FromALB, fmt.Sprintf("t%d.example.com", i), fmt.Sprintf(c.text, i)))
			}
			for b.Loop() {
				if res := runHosts(b, f); len(res.Unread) > 0 {
					b.Fatal(res.Unread[0])
				}
			}
		})
	}
}

// The lists of an advisory are bounded. Otherwise hosts under a wildcard that many
// objects claim, or in spec.tls of many, would list as many claims as there are pairs.
func TestAdvisoriesDoNotMultiply(t *testing.T) {
	f := ingressFacts(2000, func(i int) string {
		if i < 100 {
			return "*.example.com"
		}
		return fmt.Sprintf("h%d.example.com", i%1000)
	})
	for i := range f.Ingresses {
		f.Ingresses[i].TLSHosts = []string{"h999.example.com"}
	}
	res := runHosts(t, f)
	if len(res.Advisories) < 2000 {
		t.Errorf("only %d advisories", len(res.Advisories))
	}
	for _, a := range res.Advisories {
		if len(a.Objects) > 20 || len(a.Owners) > 20 {
			t.Fatalf("%q lists %d objects and %d owners", a.Message, len(a.Objects), len(a.Owners))
		}
		if covers := strings.Contains(a.Message, "covers"); covers != strings.Contains(a.Message, "only the oldest 10") {
			t.Fatalf("%q is wrong about whether all claims are listed", a.Message)
		}
	}
}

// runHosts freezes facts and evaluates them.
func runHosts(t testing.TB, f snapshot.Facts) rules.Result {
	rule := hosts.Rule()
	f.Namespaces, f.Ingresses = slices.Clone(f.Namespaces), slices.Clone(f.Ingresses)
	f.Gateways, f.Routes = slices.Clone(f.Gateways), slices.Clone(f.Routes)
	var builder snapshot.Builder
	builder.Add(f)
	res, err := rule.Run(rules.Input{
		View:  builder.Freeze().View(slices.Concat(rule.Needs, rule.Uses)...),
		Owner: func(m *snapshot.Meta) rules.Owner { return rules.Owner{Name: m.Namespace} },
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// ingressFacts returns claims to hosts in a thousand namespaces, each with its own
// owner: one in ten by a route, the others by Ingresses.
func ingressFacts(claims int, host func(i int) string) (f snapshot.Facts) {
	all := snapshot.AllowedNamespaces{From: snapshot.NamespacesAll}
	edge := sketchID{"Gateway", "team-0", "edge"}
	f.Gateways = []snapshot.Gateway{{Meta: edge.meta(notDeleted), Listeners: []snapshot.Listener{{Name: "http", Protocol: "HTTP", AllowedRoutes: all}}}}
	for i := range 1000 {
		f.Namespaces = append(f.Namespaces, ownedNamespace(i))
	}
	born := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	for i := range claims {
		namespace, name := f.Namespaces[i%1000].Name, fmt.Sprintf("o%d", i)
		if i%10 == 9 {
			meta := sketchID{"HTTPRoute", namespace, name}.meta(notDeleted)
			f.Routes = append(f.Routes, snapshot.Route{Meta: meta, Hostnames: []string{host(i)}, Parents: []snapshot.ParentRef{{Ref: edge.ref()}}})
			continue
		}
		meta := sketchID{"Ingress", namespace, name}.meta(notDeleted)
		meta.Created = born.Add(time.Duration(i) * time.Second)
		f.Ingresses = append(f.Ingresses, snapshot.Ingress{
			Meta: meta, Class: "nginx", Hosts: []snapshot.HostClaim{{Host: host(i), Source: snapshot.FromRule, Set: meta.Created}},
		})
	}
	return f
}

func ownedNamespace(i int) snapshot.Namespace {
	name := fmt.Sprintf("team-%d", i)
	return snapshot.Namespace{Meta: snapshot.Meta{Kind: "Namespace", Name: name}, Labels: snapshot.NewLabels(map[string]string{
		"kubernetes.io/metadata.name": name, "team": fmt.Sprintf("t%d", i%1000), "env": "prod",
	})}
}

// BenchmarkHostsOfGateways evaluates a hundred thousand routes, each attached to all
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
		g := snapshot.Gateway{Meta: gateway(i).meta(notDeleted), AllowedListeners: snapshot.AllowedNamespaces{From: snapshot.NamespacesAll}}
		for l := range 64 {
			g.Listeners = append(g.Listeners, snapshot.Listener{
				Name: fmt.Sprintf("l%d", l), Protocol: "HTTPS", Hostname: fmt.Sprintf("*.zone-%d.example.com", l),
				AllowedRoutes: snapshot.AllowedNamespaces{From: snapshot.NamespacesSelector, Selector: edge},
			})
		}
		f.Gateways = append(f.Gateways, g)
	}
	for i := range routes {
		r := snapshot.Route{Meta: sketchID{"HTTPRoute", namespace(i), fmt.Sprintf("r%d", i)}.meta(notDeleted)}
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
			Meta: sketchID{"ListenerSet", namespace(i), fmt.Sprintf("s%d", i)}.meta(notDeleted), Parent: gateway(i).ref(),
			Listeners: []snapshot.Listener{{Name: "own", Protocol: "HTTPS", Hostname: fmt.Sprintf("own%d.example.com", i)}},
		})
	}
	var b snapshot.Builder
	b.Add(f)
	return b.Freeze()
}
