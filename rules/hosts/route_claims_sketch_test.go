package hosts_test

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// sketch is a small cluster in words of its own, so that the naive judge needs
// nothing of what it judges.
type sketch struct {
	Namespaces []sketchNamespace
	Parents    []sketchParent
	Routes     []sketchRoute
	Ingresses  []sketchIngress
}

type sketchNamespace struct {
	Name, Owner       string
	Edge, Terminating bool
}

// sketchID names an object; its kind is one of the six, or Service.
type sketchID struct{ Kind, Namespace, Name string }

// sketchParent is a Gateway or a ListenerSet.
type sketchParent struct {
	ID        sketchID
	Deleting  bool
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
	ID                        sketchID
	Deleting, Default, Solver bool
	Hostnames                 []string
	Parents                   []sketchRef
}

type sketchRef struct {
	ID      sketchID
	Section string
	Port    int32
}

type sketchIngress struct {
	ID    sketchID
	Class string
	Hosts []string
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

// dropDoubles leaves one of several objects of one identity.
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
