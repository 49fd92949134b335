package hosts_test

import "math/rand/v2"

// drawer draws clusters in which much meets.
type drawer struct{ *rand.Rand }

func drawSketch(seed uint64) sketch {
	d := drawer{rand.New(rand.NewPCG(seed, 17))}
	var s sketch
	for _, name := range []string{"platform", "team-a", "team-b"} {
		s.Namespaces = append(s.Namespaces, sketchNamespace{name, d.one("", "x", "y"), d.in(2), d.in(20)})
	}
	for range 2 + d.IntN(3) {
		s.Parents = append(s.Parents, sketchParent{
			ID: d.gateway(), Deleting: d.in(10), Default: d.in(4), Admits: d.admission(), Listeners: d.listeners(),
		})
	}
	for range 2 + d.IntN(3) {
		set := sketchParent{ID: d.set(), Deleting: d.in(10), Gateway: d.gateway(), Listeners: d.listeners()}
		if d.in(8) {
			set.Gateway = d.set() // which is none
		}
		s.Parents = append(s.Parents, set)
	}
	for range 6 + d.IntN(7) {
		s.Routes = append(s.Routes, d.route())
	}
	for range d.IntN(4) {
		s.Ingresses = append(s.Ingresses, sketchIngress{
			ID: sketchID{"Ingress", d.namespace(), d.one("q", "r")}, Class: d.one("nginx", "other"), Hosts: d.hosts(),
		})
	}
	s.dropDoubles()
	return s
}

func (d drawer) one(of ...string) string { return of[d.IntN(len(of))] }

// in is true once in n times.
func (d drawer) in(n int) bool { return d.IntN(n) == 0 }

func (d drawer) namespace() string { return d.one("platform", "team-a", "team-b") }

func (d drawer) admission() string {
	return d.one("all", "all", "all", "all", "all", "any", "edge", "none", "same", "team-a")
}

func (d drawer) host() string {
	return d.one("", "", "*.x.test", "*.x.test", "*.a.x.test", "a.x.test", "b.x.test", "b.a.x.test", "x.test", "A.X.test.", "*.test", "y.test", "myx.test")
}

func (d drawer) hosts() (list []string) {
	for range d.IntN(3) {
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
	for _, name := range []string{"k", "l", "m"}[:1+d.IntN(3)] {
		l := sketchListener{
			Name: name, Hostname: d.host(), Port: int32(80 + d.IntN(2)), Admits: d.admission(),
			Protocol: d.one("HTTP", "HTTP", "HTTP", "HTTPS", "HTTPS", "TLS", "TLS", "TCP", "example.com/own"),
		}
		if d.in(3) {
			for range d.IntN(3) {
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
		Deleting: d.in(12), Default: d.in(6), Solver: d.in(12), Hostnames: d.hosts(),
	}
	for range 1 + d.IntN(3) {
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
			p.Port = int32(80 + d.IntN(3))
		}
		r.Parents = append(r.Parents, p)
	}
	return r
}
