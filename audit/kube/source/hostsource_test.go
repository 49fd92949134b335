package source_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const (
	gatesKind    snapshot.Kind = "gates.example.com"
	servicesKind snapshot.Kind = "services"
	proxies      snapshot.Kind = "httpproxies.projectcontour.io"
	mappings     snapshot.Kind = "domainmappings.serving.knative.dev"
)

// hostAPI is an API server with custom kinds: what it serves, in the form of discovery,
// and its responses to lists.
type hostAPI struct {
	serves  []string
	lists   map[string]string // the items by path; "403" forbids
	objects map[string]string // by path
}

func (a hostAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/apis" {
		discovery(w, a.serves)
		return
	}
	items, ok := a.lists[r.URL.Path]
	object, isObject := a.objects[r.URL.Path]
	switch {
	case isObject:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, object)
	case items == "403":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"gates is forbidden: no"}`)
	case !ok:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"metadata":{"resourceVersion":"7"},"items":[%s]}`, items)
	}
}

// ownSource is a host source from the config for a kind.
func ownSource(t *testing.T, kind snapshot.Kind, object string) hostsource.Source {
	t.Helper()
	hosts, err := hostsource.Compile("object.spec.host")
	if err != nil {
		t.Fatal(err)
	}
	return hostsource.Source{Kind: kind, Object: object, Versions: []string{"v1"}, Hosts: hosts}
}

// readHosts reads the kinds of host sources from an API server.
func readHosts(t *testing.T, api http.Handler, sources ...hostsource.Source) *snapshot.Snapshot {
	t.Helper()
	source := newSource(t, serve(t, api), source.Options{HostSources: sources})
	return read(t, source, []snapshot.Kind{snapshot.HostSources})
}

func TestHostSourcesThatAreServedAreRead(t *testing.T) {
	api := hostAPI{
		serves: []string{
			"projectcontour.io/v1 httpproxies HTTPProxy",
			"serving.knative.dev/v1beta1 domainmappings DomainMapping",
			"serving.knative.dev/v1alpha1 domainmappings DomainMapping",
			"example.com/v1 routes Route",
		},
		lists: map[string]string{
			"/apis/projectcontour.io/v1/httpproxies": `{"metadata":{"name":"shop","namespace":"a"},"spec":{"virtualhost":{"fqdn":"shop.example.com"}}},
				{"metadata":{"name":"child","namespace":"a"}},{"metadata":{"name":"odd","namespace":"a"},"spec":{"virtualhost":{"fqdn":7}}}`,
			"/apis/serving.knative.dev/v1beta1/domainmappings":  `{"metadata":{"name":"blog.example.com","namespace":"b"}}`,
			"/apis/serving.knative.dev/v1alpha1/domainmappings": `{"metadata":{"name":"blog.example.com","namespace":"b"}}`,
			"/api/v1/services": `{"metadata":{"name":"web","namespace":"c"},"spec":{"host":"web.example.com"}}`,
		},
	}
	s := readHosts(t, api, append(hostsource.BuiltIn(), ownSource(t, servicesKind, "Service"), ownSource(t, gatesKind, "Gate"))...)
	reads := []snapshot.Read{
		{Kind: servicesKind, Version: "v1", Status: snapshot.Listed, Items: 1},
		{Kind: gatesKind, Version: "v1", Status: snapshot.Absent},
		{Kind: proxies, Version: "v1", Status: snapshot.Listed, Items: 3},
		{Kind: mappings, Version: "v1beta1", Status: snapshot.Listed, Items: 1},
	}
	if diff := cmp.Diff(reads, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if got := s.Status(snapshot.HostSources); got != snapshot.Listed {
		t.Errorf("the sources are %s", got)
	}
	var got []string
	for o := range s.View(snapshot.HostSources).HostObjects() {
		line := o.Ref().String()
		for _, h := range o.Hosts {
			line += " " + h.Host
		}
		got = append(got, strings.TrimSpace(line+" "+o.Err))
	}
	want := []string{
		"HTTPProxy a/child",
		"HTTPProxy a/odd the expression returns a value of type int",
		"HTTPProxy a/shop shop.example.com",
		"DomainMapping b/blog.example.com blog.example.com",
		"Service c/web web.example.com",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// TestKindsThatCarryHostsAreCounted checks that objects of a kind whose source is off, or
// that nothing is known about but its name, are counted where that is allowed, and that the
// kind is named where it is not.
func TestKindsThatCarryHostsAreCounted(t *testing.T) {
	api := hostAPI{
		serves: []string{
			"getambassador.io/v3alpha1 hosts Host",
			"getambassador.io/v3alpha1 tcpmappings TCPMapping",
			"contour.heptio.com/v9 ingressroutes IngressRoute",
			"example.com/v1 virtualhosts VirtualHost",
			"example.com/v1 virtualservers VirtualServer",
		},
		lists: map[string]string{
			"/apis/getambassador.io/v3alpha1/hosts": `{"metadata":{"name":"a","namespace":"a"}},{"metadata":{"name":"b","namespace":"a"}},
				{"metadata":{"name":"a","namespace":"b"},"spec":{"hostname":7}}`,
			"/apis/getambassador.io/v3alpha1/tcpmappings": "",
			"/apis/example.com/v1/virtualhosts":           "403",
			"/apis/example.com/v1/virtualservers":         `{"metadata":{"name":"a","namespace":"c"}}`,
		},
	}
	s := readHosts(t, api, append(hostsource.BuiltIn(), hostsource.Unread()...)...)
	if got := s.Status(snapshot.HostSources); got != snapshot.Listed || len(s.Reads()) > 0 {
		t.Errorf("the sources are %s: %v", got, s.Reads())
	}
	var got []string
	for u := range s.View(snapshot.HostSources).UnreadHosts() {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %d %s", u.Kind, u.Object, u.Namespace, u.Count, u.Unknown)))
	}
	want := []string{
		"hosts.getambassador.io Host a 2",
		"hosts.getambassador.io Host b 1",
		"ingressroutes.contour.heptio.com IngressRoute  0 failed: served only in versions [v9], which are not supported",
		"virtualhosts.example.com VirtualHost  0 forbidden: no",
		"virtualservers.example.com VirtualServer c 1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

func TestHostSourcesThatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		says   string
		api    hostAPI
		status snapshot.Status
		err    string
	}{
		{"the account may not list them", hostAPI{
			serves: []string{"example.com/v1 gates Gate"}, lists: map[string]string{"/apis/example.com/v1/gates": "403"},
		}, snapshot.Forbidden, "no"},
		{
			"their server is away",
			hostAPI{serves: []string{"example.com/v1 gates Gate stale"}},
			snapshot.Failed, "the API server cannot reach the server of this group",
		},
		{
			"they are served in other versions",
			hostAPI{serves: []string{"example.com/v2 gates Gate"}},
			snapshot.Failed, "served only in versions [v2], which are not supported",
		},
		{
			"they are in no namespace",
			hostAPI{serves: []string{"example.com/v1 gates Gate cluster"}},
			snapshot.Failed, "its objects are in no namespace, and so have no owner: they cannot be a source of hosts",
		},
		{
			"they are called something else",
			hostAPI{serves: []string{"example.com/v1 gates Door"}},
			snapshot.Failed, "its objects are of kind Door, not Gate",
		},
		{"they are not served", hostAPI{serves: []string{"apps/v1 deployments Deployment"}}, snapshot.Absent, ""},
	} {
		s := readHosts(t, c.api, append(hostsource.BuiltIn(), ownSource(t, gatesKind, "Gate"))...)
		reads := s.Reads()
		if len(reads) != 1 || reads[0].Kind != gatesKind || reads[0].Status != c.status || reads[0].Err != c.err {
			t.Errorf("where %s: read %+v, want %s (%s)", c.says, reads, c.status, c.err)
		}
		want := c.status
		if want == snapshot.Absent {
			want = snapshot.Listed
		}
		if got := s.Status(snapshot.HostSources); got != want {
			t.Errorf("where %s: the sources are %s, want %s", c.says, got, want)
		}
	}
}

func TestHostSourcesAreUnknownWithoutDiscovery(t *testing.T) {
	s := readHosts(t, http.NotFoundHandler(), hostsource.BuiltIn()...)
	if len(s.Reads()) != len(hostsource.BuiltIn()) || s.Status(snapshot.HostSources) != snapshot.Failed {
		t.Errorf("the sources are %s, by %+v", s.Status(snapshot.HostSources), s.Reads())
	}
}

func TestNoHostSources(t *testing.T) {
	s := readHosts(t, http.NotFoundHandler())
	if len(s.Reads()) > 0 || s.Status(snapshot.HostSources) != snapshot.Listed {
		t.Errorf("the sources are %s, by %+v", s.Status(snapshot.HostSources), s.Reads())
	}
}

func TestHostSourcesThatTakeTooLong(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	source := newSource(t, serve(t, slow), source.Options{HostSources: []hostsource.Source{ownSource(t, gatesKind, "Gate")}})
	var b snapshot.Builder
	if _, err := source.Read(ctx, []snapshot.Kind{snapshot.HostSources}, &b); err != nil {
		t.Fatal(err)
	}
	s := b.Freeze()
	if got := s.Unknown(snapshot.HostSources); len(got) != 1 || got[0].Kind != gatesKind || got[0].Status != snapshot.Failed {
		t.Errorf("unknown: %+v", got)
	}
}
