package snapshot_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

const (
	routesKind  snapshot.Kind = "routes.route.openshift.io"
	proxiesKind snapshot.Kind = "httpproxies.projectcontour.io"
)

func TestHostSourcesAreKnownIfAllOfThemAre(t *testing.T) {
	read := func(kind snapshot.Kind, status snapshot.Status) snapshot.Read {
		return snapshot.Read{Kind: kind, Version: "v1", Status: status}
	}
	for _, c := range []struct {
		says    string
		build   func(*snapshot.Builder)
		status  snapshot.Status
		unknown []snapshot.Kind
	}{
		{"nobody asked for them", func(*snapshot.Builder) {}, snapshot.Failed, []snapshot.Kind{snapshot.HostSources}},
		{"there are none", func(b *snapshot.Builder) { b.Expand(snapshot.HostSources) }, snapshot.Listed, nil},
		{"all were read", func(b *snapshot.Builder) {
			b.Expand(snapshot.HostSources)
			b.Expand(snapshot.HostSources, routesKind)
			b.Expand(snapshot.HostSources, proxiesKind)
			b.Add(snapshot.Facts{}, read(routesKind, snapshot.Listed), read(proxiesKind, snapshot.Absent))
		}, snapshot.Listed, nil},
		{"one is forbidden", func(b *snapshot.Builder) {
			b.Expand(snapshot.HostSources, routesKind, proxiesKind)
			b.Add(snapshot.Facts{}, read(routesKind, snapshot.Forbidden), read(proxiesKind, snapshot.Listed))
		}, snapshot.Forbidden, []snapshot.Kind{routesKind}},
		{"two are unknown", func(b *snapshot.Builder) {
			b.Expand(snapshot.HostSources, routesKind, proxiesKind)
			b.Add(snapshot.Facts{}, read(routesKind, snapshot.Forbidden), read(proxiesKind, snapshot.Failed))
		}, snapshot.Failed, []snapshot.Kind{proxiesKind, routesKind}},
		{"one was never read", func(b *snapshot.Builder) {
			b.Expand(snapshot.HostSources, routesKind)
		}, snapshot.Failed, []snapshot.Kind{routesKind}},
		{"another kind is forbidden", func(b *snapshot.Builder) {
			b.Expand(snapshot.HostSources)
			b.Add(snapshot.Facts{}, read(snapshot.Pods, snapshot.Forbidden))
		}, snapshot.Listed, nil},
		{"a source reads them as one kind", func(b *snapshot.Builder) {
			b.Add(snapshot.Facts{}, read(snapshot.HostSources, snapshot.Listed))
		}, snapshot.Listed, nil},
	} {
		var b snapshot.Builder
		c.build(&b)
		s := b.Freeze()
		if got := s.Status(snapshot.HostSources); got != c.status {
			t.Errorf("where %s: they are %s, want %s", c.says, got, c.status)
		}
		if got := s.View(snapshot.HostSources).Known(snapshot.HostSources); got != c.status.Known() {
			t.Errorf("where %s: a rule is told known %t", c.says, got)
		}
		var unknown []snapshot.Kind
		for _, r := range s.Unknown(snapshot.HostSources) {
			unknown = append(unknown, r.Kind)
		}
		if diff := cmp.Diff(c.unknown, unknown); diff != "" {
			t.Errorf("where %s: unknown kinds (-want +got):\n%s", c.says, diff)
		}
	}
}

func TestKindThatStandsForOthersHasNoReadOfItsOwn(t *testing.T) {
	var b snapshot.Builder
	b.Expand(snapshot.HostSources, routesKind)
	want := []snapshot.Read{{Kind: routesKind, Version: "v1", Status: snapshot.Listed, Items: 3}}
	b.Add(snapshot.Facts{}, want...)
	if diff := cmp.Diff(want, b.Freeze().Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	b.Expand(snapshot.HostSources)
	if s := b.Freeze(); s.Status(snapshot.HostSources) != snapshot.Listed || len(s.Unknown(snapshot.HostSources)) > 0 {
		t.Error("the builder remembers what the last snapshot stood for")
	}
}

func TestHostObjectsAreEachThereOnce(t *testing.T) {
	object := func(group, name, host string) snapshot.HostObject {
		return snapshot.HostObject{
			Meta:  snapshot.Meta{Group: group, Kind: "IngressRoute", Namespace: "a", Name: name},
			Hosts: []snapshot.HostPattern{{Host: host}},
		}
	}
	var b snapshot.Builder
	b.Add(snapshot.Facts{HostObjects: []snapshot.HostObject{object("traefik.io", "z", "one"), object("traefik.io", "y", "two")}})
	b.Add(snapshot.Facts{HostObjects: []snapshot.HostObject{object("traefik.io", "z", "three"), object("traefik.containo.us", "z", "four")}})
	var got []string
	for o := range b.Freeze().View(snapshot.HostSources).HostObjects() {
		got = append(got, o.Name+" "+o.Group+" "+o.Hosts[0].Host)
	}
	want := []string{"y traefik.io two", "z traefik.containo.us four", "z traefik.io three"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
