package manifests_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// hostManifests hold objects of host sources, one of them in a version that
// nobody knows and one of another group.
const hostManifests = `
apiVersion: networking.istio.io/v1alpha3
kind: VirtualService
metadata: {name: shop, namespace: team-a}
spec: {hosts: [shop.example.com], gateways: [public]}
---
apiVersion: v1
kind: List
items:
  - apiVersion: projectcontour.io/v1
    kind: HTTPProxy
    metadata: {name: shop}
    spec: {virtualhost: {fqdn: shop.example.com}}
  - apiVersion: projectcontour.io/v9
    kind: HTTPProxy
    metadata: {name: new, namespace: team-a}
    spec: {virtualhost: {fqdn: new.example.com}}
---
apiVersion: example.com/v1
kind: Route
metadata: {name: other, namespace: team-a}
spec: {host: other.example.com}
---
apiVersion: networking.istio.io/v1
kind: VirtualServiceList
items:
  - metadata: {name: blog, namespace: team-b}
    spec: {hosts: [blog.example.com], gateways: [public]}
`

// readHosts reads manifests with host sources for the given kinds.
func readHosts(t *testing.T, sources []hostsource.Source, in string, kinds ...snapshot.Kind) (*snapshot.Snapshot, audit.Reading) {
	t.Helper()
	src := &manifests.Source{Paths: []string{"-"}, Stdin: strings.NewReader(in), HostSources: sources}
	var b snapshot.Builder
	reading, err := src.Read(t.Context(), kinds, &b)
	if err != nil {
		t.Fatal(err)
	}
	return b.Freeze(), reading
}

func TestHostObjectsInManifests(t *testing.T) {
	snap, reading := readHosts(t, hostsource.BuiltIn(), hostManifests, snapshot.Namespaces, snapshot.HostSources)
	var got []string
	for o := range snap.View(snapshot.HostSources).HostObjects() {
		got = append(got, o.Ref().String()+" "+o.Hosts[0].Host)
	}
	want := []string{
		"HTTPProxy default/shop shop.example.com",
		"VirtualService team-a/shop shop.example.com",
		"VirtualService team-b/blog blog.example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	reads := []snapshot.Read{
		{Kind: snapshot.Namespaces, Version: "v1", Status: snapshot.Listed},
		{Kind: "virtualservices.networking.istio.io", Version: "v1", Status: snapshot.Listed, Items: 2},
		{Kind: "httpproxies.projectcontour.io", Version: "v1", Status: snapshot.Listed, Items: 1},
	}
	if diff := cmp.Diff(reads, snap.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	passed := map[audit.IgnoredKind]bool{
		{Group: "projectcontour.io", Version: "v9", Kind: "HTTPProxy", Items: 1}: true,
		{Group: "example.com", Version: "v1", Kind: "Route", Items: 1}:           true,
	}
	for _, p := range reading.Ignored {
		if !passed[p] {
			t.Errorf("passed over: %+v", p)
		}
	}
	if len(reading.Ignored) != len(passed) || len(reading.Problems) > 0 || snap.Status(snapshot.HostSources) != snapshot.Listed {
		t.Errorf("%d passed over, problems %v, sources %s", len(reading.Ignored), reading.Problems, snap.Status(snapshot.HostSources))
	}
}

func TestHostSourceOfTheConfigIsReadEvenIfThereIsNothing(t *testing.T) {
	hosts, err := hostsource.Compile("object.spec.host")
	if err != nil {
		t.Fatal(err)
	}
	sources := append(hostsource.BuiltIn(), hostsource.Source{
		Kind: "gates.example.com", Object: "Gate", Versions: []string{"v1beta2"}, Hosts: hosts,
	})
	snap, _ := readHosts(t, sources, "", snapshot.HostSources)
	want := []snapshot.Read{{Kind: "gates.example.com", Version: "v1beta2", Status: snapshot.Listed}}
	if diff := cmp.Diff(want, snap.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestHostObjectsThatNoRuleNeedsArePassedOver(t *testing.T) {
	snap, reading := readHosts(t, hostsource.BuiltIn(), hostManifests, snapshot.Namespaces)
	if len(reading.Ignored) != 5 || len(snap.Reads()) != 1 {
		t.Errorf("passed over %v, read %v", reading.Ignored, snap.Reads())
	}
}

func TestHostObjectsEndWithTheContext(t *testing.T) {
	over := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	src := &manifests.Source{Paths: []string{"-"}, Stdin: strings.NewReader(hostManifests), HostSources: hostsource.BuiltIn()}
	if _, err := src.Read(ctx, []snapshot.Kind{snapshot.HostSources}, new(snapshot.Builder)); !errors.Is(err, over) {
		t.Errorf("got %v, want the cause of the end", err)
	}
}
