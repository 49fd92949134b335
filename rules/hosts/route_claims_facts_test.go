package hosts_test

import (
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// snapshot turns the sketch into what a rule judges.
func (s *sketch) snapshot() *snapshot.Snapshot {
	var f snapshot.Facts
	for _, n := range s.Namespaces {
		labels := map[string]string{}
		if n.Edge {
			labels["edge"] = "yes"
		}
		f.Namespaces = append(f.Namespaces, snapshot.Namespace{
			Meta: snapshot.Meta{Kind: "Namespace", Name: n.Name}, Labels: snapshot.NewLabels(labels), Terminating: n.Terminating,
		})
	}
	for _, p := range s.Parents {
		if p.ID.Kind == "Gateway" {
			f.Gateways = append(f.Gateways, snapshot.Gateway{
				Meta: p.ID.meta(p.Deleting), Listeners: listenerFacts(p.Listeners), AllowedListeners: admissions()[p.Admits], Default: p.Default,
			})
			continue
		}
		f.ListenerSets = append(f.ListenerSets, snapshot.ListenerSet{
			Meta: p.ID.meta(p.Deleting), Parent: p.Gateway.ref(), Listeners: listenerFacts(p.Listeners),
		})
	}
	for _, r := range s.Routes {
		route := snapshot.Route{
			Meta: r.ID.meta(r.Deleting), Hostnames: r.Hostnames, Default: r.Default,
			SolverLabel: r.Solver, ChallengeOwner: r.Solver, ChallengePaths: r.Solver,
		}
		for _, p := range r.Parents {
			route.Parents = append(route.Parents, snapshot.ParentRef{Ref: p.ID.ref(), Section: p.Section, Port: p.Port})
		}
		f.Routes = append(f.Routes, route)
	}
	for _, i := range s.Ingresses {
		ingress := snapshot.Ingress{Meta: i.ID.meta(false), Class: i.Class}
		for _, h := range i.Hosts {
			ingress.Hosts = append(ingress.Hosts, snapshot.HostClaim{Host: h, Source: snapshot.FromRule})
		}
		f.Ingresses = append(f.Ingresses, ingress)
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

func (id sketchID) meta(deleting bool) snapshot.Meta {
	r := id.ref()
	return snapshot.Meta{Group: r.Group, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Deleting: deleting}
}
