package source_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const liveHostObjects = `
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: shop, namespace: default}
spec: {host: www.shop.example.com, wildcardPolicy: Subdomain}
---
apiVersion: networking.istio.io/v1alpha3
kind: VirtualService
metadata: {name: shop, namespace: default}
spec: {hosts: [shop.example.com, reviews], gateways: [public]}
---
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: shop, namespace: default}
spec: {routes: [{kind: Rule, match: "Host(` + "`a.example.com`) || HostRegexp(`.+`)" + `"}]}
---
apiVersion: traefik.containo.us/v1alpha1
kind: IngressRouteTCP
metadata: {name: db, namespace: default}
spec: {routes: [{match: "HostSNI(` + "`db.example.com`" + `)"}]}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: shop, namespace: default}
spec: {virtualhost: {fqdn: shop.example.com}}
---
apiVersion: serving.knative.dev/v1alpha1
kind: DomainMapping
metadata: {name: blog.example.com, namespace: default}
---
`

func TestLiveHostSources(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	create(t, c, liveHostObjects)
	source := newSource(t, c.Config(kubetest.Admin), source.Options{HostSources: hostsource.BuiltIn()})
	s := read(t, source, []snapshot.Kind{snapshot.HostSources})
	var got []string
	for o := range s.View(snapshot.HostSources).HostObjects() {
		line := fmt.Sprint(o.Ref(), " ", o.HostsSet.Equal(o.Created) && !o.Created.IsZero())
		for _, h := range o.Hosts {
			line += fmt.Sprint(" ", h.Host)
		}
		for _, e := range o.Expressions {
			line += fmt.Sprint(" ~", e.Text)
		}
		got = append(got, strings.Join(append([]string{line}, o.Invalid...), " | "))
	}
	want := []string{
		"DomainMapping default/blog.example.com true blog.example.com",
		"IngressRouteTCP default/db true db.example.com",
		"HTTPProxy default/shop true shop.example.com",
		"IngressRoute default/shop true a.example.com ~.+",
		"Route default/shop true *.shop.example.com",
		"VirtualService default/shop true shop.example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	for _, r := range s.Reads() {
		i := 0
		for hostsource.BuiltIn()[i].Kind != r.Kind {
			i++
		}
		if r.Status != snapshot.Listed || r.Version != hostsource.BuiltIn()[i].Versions[0] {
			t.Errorf("%s %s is %s: %s", r.Kind, r.Version, r.Status, r.Err)
		}
	}
}

func TestLiveHostSourceThatIsForbidden(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	create(t, c, liveHostObjects)
	for _, s := range hostsource.BuiltIn() {
		if s.Object != "Route" {
			allow(t, c, s.Kind.Group(), s.Kind.Resource())
		}
	}
	source := newSource(t, c.Config(kubetest.Guest), source.Options{HostSources: hostsource.BuiltIn()})
	want := []snapshot.Read{{
		Kind: "routes.route.openshift.io", Version: "v1", Status: snapshot.Forbidden,
		Err: `User "guest" cannot list resource "routes" in API group "route.openshift.io" at the cluster scope`,
	}}
	s := read(t, source, []snapshot.Kind{snapshot.HostSources})
	if diff := cmp.Diff(want, s.Unknown(snapshot.HostSources)); diff != "" {
		t.Errorf("unknown (-want +got):\n%s", diff)
	}
}

func TestLiveHostSourcesOfAPlainCluster(t *testing.T) {
	c := control.Cluster(t)
	services := ownSource(t, servicesKind, "Service")
	source := newSource(t, c.Config(kubetest.Admin), source.Options{HostSources: append(hostsource.BuiltIn(), services)})
	s := read(t, source, []snapshot.Kind{snapshot.HostSources})
	want := []snapshot.Read{{Kind: servicesKind, Version: "v1", Status: snapshot.Listed, Items: 1}}
	if diff := cmp.Diff(want, s.Reads()); diff != "" || s.Status(snapshot.HostSources) != snapshot.Listed {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}
