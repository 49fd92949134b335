package hosts_test

import (
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// sketch is a small cluster in terms of its own, so that the naive evaluation needs
// nothing of the code under test.
type sketch struct {
	Namespaces []sketchNamespace
	Parents    []sketchParent
	Routes     []sketchRoute
	Ingresses  []sketchIngress
	Signed     map[sketchID]string // the owners that objects name
}

type sketchNamespace struct {
	Name, Owner string
	Edge        bool
	Deletion    deletionAge
}

// sketchID names an object; its kind is one of the six, or Service.
type sketchID struct{ Kind, Namespace, Name string }

// sketchParent is a Gateway or a ListenerSet.
type sketchParent struct {
	ID        sketchID
	Deletion  deletionAge
	Default   bool
	Admits    string   // of a Gateway: whose sets
	Gateway   sketchID // of a set
	Listeners []sketchListener
}

type sketchListener struct {
	Name, Hostname, Protocol string
	Port                     int32
	Admits                   string
	Kinds                    []string // those of another group begin with "other/"
}

type sketchRoute struct {
	ID              sketchID
	Deletion        deletionAge
	Default, Solver bool
	Hostnames       []string
	Parents         []sketchRef
}

type sketchRef struct {
	ID      sketchID
	Section string
	Port    int32
}

type sketchIngress struct {
	ID       sketchID
	Deletion deletionAge
	Solver   bool
	Class    string
	Hosts    []string
}

// deletionAge says whether something is being deleted, and for how long.
type deletionAge string

const (
	notDeleted deletionAge = ""
	fresh      deletionAge = "fresh" // a minute ago, or in a minute by a clock that is ahead
	stuck      deletionAge = "stuck" // an hour ago, or at an unknown time
)

// sketchNow is when the sweep starts.
func sketchNow() time.Time { return time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC) }

func (a deletionAge) fact() *snapshot.Deletion {
	switch a {
	case fresh:
		return &snapshot.Deletion{At: sketchNow().Add(-time.Minute)}
	case stuck:
		return &snapshot.Deletion{At: sketchNow().Add(-time.Hour)}
	}
	return nil
}

// admissions are the ways to admit, by name.
func admissions() map[string]snapshot.AllowedNamespaces {
	in := func(key, value string) snapshot.AllowedNamespaces {
		return snapshot.AllowedNamespaces{
			From:     snapshot.NamespacesSelector,
			Selector: snapshot.Selector{{Key: key, Op: snapshot.In, Values: []string{value}}},
		}
	}
	return map[string]snapshot.AllowedNamespaces{
		"none": {}, "same": {From: snapshot.NamespacesSame}, "all": {From: snapshot.NamespacesAll},
		"any": {From: snapshot.NamespacesSelector}, "edge": in("edge", "yes"), "team-a": in("kubernetes.io/metadata.name", "team-a"),
	}
}

// dropDoubles keeps one of several objects with the same identity.
func (s *sketch) dropDoubles() {
	seen := map[sketchID]bool{}
	double := func(id sketchID) bool {
		was := seen[id]
		seen[id] = true
		return was
	}
	s.Parents = slices.DeleteFunc(s.Parents, func(p sketchParent) bool { return double(p.ID) })
	s.Routes = slices.DeleteFunc(s.Routes, func(r sketchRoute) bool { return double(r.ID) })
	s.Ingresses = slices.DeleteFunc(s.Ingresses, func(i sketchIngress) bool { return double(i.ID) })
}

// drawer draws clusters in which many objects claim the same hosts.
type drawer struct{ *rapid.T }

func drawSketch(t *rapid.T) sketch {
	d := drawer{t}
	var s sketch
	for _, name := range []string{"platform", "team-a", "team-b"} {
		s.Namespaces = append(s.Namespaces, sketchNamespace{name, d.one("", "x", "y"), d.in(2), d.deletion(10)})
	}
	for range 2 + d.less(3) {
		s.Parents = append(s.Parents, sketchParent{
			ID: d.gateway(), Deletion: d.deletion(5), Default: d.in(4), Admits: d.admission(), Listeners: d.listeners(),
		})
	}
	for range 2 + d.less(3) {
		set := sketchParent{ID: d.set(), Deletion: d.deletion(5), Gateway: d.gateway(), Listeners: d.listeners()}
		if d.in(8) {
			set.Gateway = d.set() // which is none
		}
		s.Parents = append(s.Parents, set)
	}
	for range 6 + d.less(7) {
		s.Routes = append(s.Routes, d.route())
	}
	for range d.less(4) {
		s.Ingresses = append(s.Ingresses, sketchIngress{
			ID: sketchID{"Ingress", d.namespace(), d.one("q", "r")}, Deletion: d.deletion(6), Solver: d.in(4), Class: d.one("nginx", "other"), Hosts: d.hosts(),
		})
	}
	s.dropDoubles()
	s.Signed = map[sketchID]string{}
	for _, p := range s.Parents {
		s.Signed[p.ID] = d.one("", "", "x", "y")
	}
	for _, r := range s.Routes {
		s.Signed[r.ID] = d.one("", "", "x", "y")
	}
	for _, i := range s.Ingresses {
		s.Signed[i.ID] = d.one("", "", "x", "y")
	}
	return s
}

func (d drawer) one(of ...string) string { return rapid.SampledFrom(of).Draw(d.T, "one of") }

// less returns a number from 0 to n-1.
func (d drawer) less(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "less") }

// in is true about once in n times, and false in what is shrunk.
func (d drawer) in(n int) bool { return d.less(n) == n-1 }

// deletion returns one about once in n times.
func (d drawer) deletion(n int) deletionAge {
	if !d.in(n) {
		return notDeleted
	}
	return deletionAge(d.one(string(fresh), string(fresh), string(stuck)))
}

func (d drawer) namespace() string { return d.one("platform", "team-a", "team-b") }

func (d drawer) admission() string {
	return d.one("all", "all", "all", "all", "all", "any", "edge", "none", "same", "team-a")
}

func (d drawer) host() string {
	return d.one("", "", "*.x.test", "*.x.test", "*.a.x.test", "a.x.test", "b.x.test", "b.a.x.test", "x.test", "A.X.test.", "*.test", "y.test", "myx.test")
}

func (d drawer) hosts() (list []string) {
	for range d.less(3) {
		list = append(list, d.host())
	}
	return list
}

func (d drawer) gateway() sketchID {
	return sketchID{"Gateway", d.one("platform", "platform", "team-a"), d.one("g", "g", "h")}
}

func (d drawer) set() sketchID {
	return sketchID{d.one("ListenerSet", "XListenerSet"), d.namespace(), d.one("s", "t")}
}

func (d drawer) listeners() (list []sketchListener) {
	for _, name := range []string{"k", "l", "m"}[:1+d.less(3)] {
		l := sketchListener{
			Name: name, Hostname: d.host(), Port: int32(80 + d.less(2)), Admits: d.admission(),
			Protocol: d.one("HTTP", "HTTP", "HTTP", "HTTPS", "HTTPS", "TLS", "TLS", "TCP", "example.com/own"),
		}
		if d.in(3) {
			for range d.less(3) {
				l.Kinds = append(l.Kinds, d.one("HTTPRoute", "GRPCRoute", "TLSRoute", "other/HTTPRoute", "other/TLSRoute"))
			}
		}
		list = append(list, l)
	}
	return list
}

func (d drawer) route() sketchRoute {
	r := sketchRoute{
		ID:       sketchID{d.one("HTTPRoute", "HTTPRoute", "GRPCRoute", "TLSRoute"), d.namespace(), d.one("q", "r", "s", "t")},
		Deletion: d.deletion(6), Default: d.in(6), Solver: d.in(4), Hostnames: d.hosts(),
	}
	for range 1 + d.less(3) {
		p := sketchRef{ID: d.gateway()}
		switch {
		case d.in(6):
			p.ID.Kind = "Service"
		case d.in(3):
			p.ID = d.set()
		}
		if d.in(4) {
			p.Section = d.one("k", "l", "none")
		}
		if d.in(5) {
			p.Port = int32(80 + d.less(3))
		}
		r.Parents = append(r.Parents, p)
	}
	return r
}

// snapshot returns the sketch as the input of a rule.
func (s *sketch) snapshot() *snapshot.Snapshot {
	var f snapshot.Facts
	for _, n := range s.Namespaces {
		labels := map[string]string{}
		if n.Edge {
			labels["edge"] = "yes"
		}
		f.Namespaces = append(f.Namespaces, snapshot.Namespace{
			Meta: snapshot.Meta{Kind: "Namespace", Name: n.Name, Deletion: n.Deletion.fact()}, Labels: snapshot.NewLabels(labels),
		})
	}
	for _, p := range s.Parents {
		if p.ID.Kind == "Gateway" {
			f.Gateways = append(f.Gateways, snapshot.Gateway{
				Meta: p.ID.meta(p.Deletion), Listeners: listenerFacts(p.Listeners), AllowedListeners: admissions()[p.Admits], Default: p.Default,
			})
			continue
		}
		f.ListenerSets = append(f.ListenerSets, snapshot.ListenerSet{
			Meta: p.ID.meta(p.Deletion), Parent: p.Gateway.ref(), Listeners: listenerFacts(p.Listeners),
		})
	}
	for _, r := range s.Routes {
		route := snapshot.Route{
			Meta: r.ID.meta(r.Deletion), Hostnames: r.Hostnames, Default: r.Default,
			SolverLabel: r.Solver, ChallengeOwner: r.Solver, ChallengePaths: r.Solver,
		}
		for _, p := range r.Parents {
			route.Parents = append(route.Parents, snapshot.ParentRef{Ref: p.ID.ref(), Section: p.Section, Port: p.Port})
		}
		f.Routes = append(f.Routes, route)
	}
	for _, i := range s.Ingresses {
		ingress := snapshot.Ingress{
			Meta: i.ID.meta(i.Deletion), Class: i.Class,
			SolverLabel: i.Solver, ChallengeOwner: i.Solver, ChallengePaths: i.Solver,
		}
		for _, h := range i.Hosts {
			ingress.Hosts = append(ingress.Hosts, snapshot.HostClaim{Host: h, Source: snapshot.FromRule})
		}
		f.Ingresses = append(f.Ingresses, ingress)
	}
	sign := func(m *snapshot.Meta) {
		m.Owner.Value = s.Signed[sketchID{m.Kind, m.Namespace, m.Name}]
	}
	for i := range f.ListenerSets {
		sign(&f.ListenerSets[i].Meta)
	}
	for i := range f.Routes {
		sign(&f.Routes[i].Meta)
	}
	for i := range f.Ingresses {
		sign(&f.Ingresses[i].Meta)
	}
	var b snapshot.Builder
	b.Add(f)
	return b.Freeze()
}

func listenerFacts(list []sketchListener) []snapshot.Listener {
	var out []snapshot.Listener
	for _, l := range list {
		fact := snapshot.Listener{
			Name: l.Name, Hostname: l.Hostname, Port: l.Port, Protocol: l.Protocol, AllowedRoutes: admissions()[l.Admits],
		}
		for _, k := range l.Kinds {
			kind := snapshot.GroupKind{Group: "gateway.networking.k8s.io", Kind: k}
			if name, ok := strings.CutPrefix(k, "other/"); ok {
				kind = snapshot.GroupKind{Group: "example.com", Kind: name}
			}
			fact.Kinds = append(fact.Kinds, kind)
		}
		out = append(out, fact)
	}
	return out
}

func (id sketchID) ref() snapshot.Ref {
	group := "gateway.networking.k8s.io"
	switch id.Kind {
	case "Service":
		group = ""
	case "Ingress":
		group = "networking.k8s.io"
	case "XListenerSet":
		group = "gateway.networking.x-k8s.io"
	}
	return snapshot.Ref{Group: group, Kind: id.Kind, Namespace: id.Namespace, Name: id.Name}
}

func (id sketchID) meta(deletion deletionAge) snapshot.Meta {
	r := id.ref()
	return snapshot.Meta{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Deletion: deletion.fact()}
}
