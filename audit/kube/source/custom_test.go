package source_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var allRoutes = []string{"r1", "r2", "r3", "r4", "r5"}

// Kinds that come as JSON are read with the same care as typed ones.
func TestRoutesAreRead(t *testing.T) {
	for name, decide := range survivable("httproutes") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
			s := read(t, source, routes)
			checkRead(t, s, snapshot.HTTPRoutes)
			if diff := cmp.Diff(allRoutes, routeNames(s)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoutesAreUnknownWhereTheServerFails(t *testing.T) {
	testUnknown(t, snapshot.HTTPRoutes, failures("httproutes"))
}

func TestRoutesAreUnknownWhereTheServerRefuses(t *testing.T) {
	testUnknown(t, snapshot.HTTPRoutes, refusals("httproutes"))
}

func TestExpiredListOfRoutesThrowsAwayWhatWasRead(t *testing.T) {
	api := newFakeAPI()
	expire := kubetest.First(1, kubetest.Page("httproutes", true), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		api.remove(routesPath)
		kubetest.Expire()(w, r, next)
	})
	source := newSource(t, serve(t, kubetest.Disturb(api, expire)), source.Options{})
	if diff := cmp.Diff(allRoutes[1:], routeNames(read(t, source, routes))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// An invalid object stays invalid however often it is read. It is a fault of its own, and
// the others are read.
func TestInvalidRouteIsAFault(t *testing.T) {
	var seen recorder
	odd := ok(`{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","namespace":"shop"},"spec":[]}]}`)
	decide := func(r *http.Request) kubetest.Answer {
		seen.decide(r)
		return kubetest.First(always, kubetest.Page("httproutes", false), odd)(r)
	}
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
	s := read(t, source, routes)
	want := []snapshot.Read{{
		Kind: snapshot.HTTPRoutes, Version: "v1", Status: snapshot.Listed, Items: 2,
	}}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if got, want := seen.paths(), []string{discoveryPath, routesPath}; !cmp.Equal(want, got) {
		t.Errorf("requests %v, want %v", got, want)
	}
	if diff := cmp.Diff([]string{"a"}, routeNames(s)); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	fault := []snapshot.Fault{{
		Ref:      snapshot.Ref{Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "shop", Name: "b"},
		Resource: snapshot.HTTPRoutes,
		Reason:   "decode HTTPRoute: json: cannot unmarshal array into Go struct field HTTPRoute.spec of type v1.HTTPRouteSpec",
	}}
	if diff := cmp.Diff(fault, s.Faults()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

const (
	ciliumServed       = "cilium.io/v2 ciliumnetworkpolicies CiliumNetworkPolicy"
	systemCiliumConfig = "/api/v1/namespaces/kube-system/configmaps/cilium-config"
	ownCiliumConfig    = "/api/v1/namespaces/cilium/configmaps/cilium-config"
)

func TestCiliumConfigIsReadByName(t *testing.T) {
	const config = `{"metadata":{"name":"cilium-config","namespace":"kube-system"},"data":{"enable-policy":"never"}}`
	for name, tt := range map[string]struct {
		api   hostAPI
		want  snapshot.Read
		paths []string
	}{
		"where Cilium is served": {
			hostAPI{serves: []string{ciliumServed}, objects: map[string]string{systemCiliumConfig: config}},
			snapshot.Read{Version: "v1", Status: snapshot.Listed, Items: 1},
			[]string{ownCiliumConfig, systemCiliumConfig, discoveryPath},
		},
		"where there is none": {
			hostAPI{serves: []string{ciliumServed}},
			snapshot.Read{Version: "v1", Status: snapshot.Listed},
			[]string{ownCiliumConfig, systemCiliumConfig, discoveryPath},
		},
		"but not where Cilium is not served": {
			hostAPI{serves: []string{"example.com/v1 gates Gate"}, objects: map[string]string{systemCiliumConfig: config}},
			snapshot.Read{Version: "v1", Status: snapshot.Absent},
			[]string{discoveryPath},
		},
		"and forbidden is not the same as not there": {
			hostAPI{
				serves: []string{ciliumServed}, lists: map[string]string{ownCiliumConfig: "403"},
				objects: map[string]string{systemCiliumConfig: config},
			},
			snapshot.Read{Status: snapshot.Forbidden, Err: "no"},
			[]string{ownCiliumConfig, systemCiliumConfig, discoveryPath},
		},
		"and an invalid one is a fault": {
			hostAPI{serves: []string{ciliumServed}, objects: map[string]string{systemCiliumConfig: `{"metadata":7}`}},
			snapshot.Read{Version: "v1", Status: snapshot.Listed, Items: 1},
			[]string{ownCiliumConfig, systemCiliumConfig, discoveryPath},
		},
		"and what is not an object is not accepted": {
			hostAPI{serves: []string{ciliumServed}, objects: map[string]string{systemCiliumConfig: `{"metadata":`}},
			snapshot.Read{Status: snapshot.Failed, Err: "the response is not JSON"},
			[]string{systemCiliumConfig, discoveryPath},
		},
		"and another object is not accepted": {
			hostAPI{serves: []string{ciliumServed}, objects: map[string]string{systemCiliumConfig: `{"metadata":{"name":"other"}}`}},
			snapshot.Read{Status: snapshot.Failed, Err: "not one of the objects that matter of its kind"},
			[]string{systemCiliumConfig, discoveryPath},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen recorder
			source := newSource(t, serve(t, kubetest.Disturb(tt.api, seen.decide)), source.Options{})
			s := read(t, source, []snapshot.Kind{snapshot.CiliumConfigs})
			tt.want.Kind = snapshot.CiliumConfigs
			if diff := cmp.Diff([]snapshot.Read{tt.want}, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.paths, seen.paths()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			off := 0
			for range s.View(snapshot.PolicyKinds()...).Enforcements() {
				off++
			}
			if off += len(s.Faults()); off != tt.want.Items {
				t.Errorf("%d settings and faults came through, want %d", off, tt.want.Items)
			}
		})
	}
}

func TestCiliumConfigIsRetried(t *testing.T) {
	api := hostAPI{serves: []string{ciliumServed}, objects: map[string]string{
		systemCiliumConfig: `{"metadata":{"name":"cilium-config","namespace":"kube-system"}}`,
	}}
	config := kubetest.Page("cilium-config", false)
	for name, answer := range map[string]kubetest.Answer{
		"after a 429":                kubetest.TooManyRequests(-1),
		"after an error":             kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd"),
		"after a truncated response": kubetest.Cut(10),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, kubetest.Disturb(api, kubetest.First(1, config, answer))), source.Options{})
			s := read(t, source, []snapshot.Kind{snapshot.CiliumConfigs})
			want := []snapshot.Read{{Kind: snapshot.CiliumConfigs, Version: "v1", Status: snapshot.Listed, Items: 1}}
			if diff := cmp.Diff(want, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVersionThatIsRead(t *testing.T) {
	const (
		beta   = "policy.networking.k8s.io/v1beta1 clusternetworkpolicies ClusterNetworkPolicy cluster"
		alpha2 = "policy.networking.k8s.io/v1alpha2 clusternetworkpolicies ClusterNetworkPolicy cluster"
		v1     = "policy.networking.k8s.io/v1 clusternetworkpolicies ClusterNetworkPolicy cluster"
		v2     = "policy.networking.k8s.io/v2 clusternetworkpolicies ClusterNetworkPolicy cluster"
		others = "policy.networking.k8s.io/v1alpha1 adminnetworkpolicies AdminNetworkPolicy cluster"
		stale  = "policy.networking.k8s.io/v1beta1 clusternetworkpolicies ClusterNetworkPolicy stale"
	)
	lists := map[string]string{}
	for _, version := range []string{"v1beta1", "v1alpha2", "v1", "v2"} {
		lists["/apis/policy.networking.k8s.io/"+version+"/clusternetworkpolicies"] = ""
	}
	for name, tt := range map[string]struct {
		serves []string
		want   snapshot.Read
	}{
		"is the only one":                         {[]string{alpha2}, snapshot.Read{Version: "v1alpha2", Status: snapshot.Listed}},
		"is the one that audit prefers":           {[]string{v1, alpha2, beta}, snapshot.Read{Version: "v1beta1", Status: snapshot.Listed}},
		"is absent from a group with other kinds": {[]string{others}, snapshot.Read{Version: "v1beta1", Status: snapshot.Absent}},
		"is not guessed": {[]string{v2, v1}, snapshot.Read{
			Status: snapshot.Failed, Err: "served only in versions [v2 v1], which are not supported",
		}},
		"is unknown where the group's server is down": {[]string{stale}, snapshot.Read{
			Status: snapshot.Failed, Err: "the API server cannot reach the server of this group",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, hostAPI{serves: tt.serves, lists: lists}), source.Options{})
			s := read(t, source, []snapshot.Kind{snapshot.ClusterNetworkPolicies})
			tt.want.Kind = snapshot.ClusterNetworkPolicies
			if diff := cmp.Diff([]snapshot.Read{tt.want}, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}

const antreaPolicies snapshot.Kind = "networkpolicies.crd.antrea.io"

const (
	antreaPath   = "/apis/crd.antrea.io/v1beta1/networkpolicies"
	antreaServed = "crd.antrea.io/v1beta1 networkpolicies NetworkPolicy"
)

// engines are kinds of policies, so that unsupported ones are looked for.
var engines = []snapshot.Kind{snapshot.CiliumNetworkPolicies}

func unmodelled(s *snapshot.Snapshot) []snapshot.Unsupported {
	var out []snapshot.Unsupported
	for u := range s.View(snapshot.PolicyKinds()...).Unsupported() {
		out = append(out, *u)
	}
	return out
}

// mayBeIn is the fact that policies of Antrea may be in a namespace.
func mayBeIn(namespace string) snapshot.Unsupported {
	return snapshot.Unsupported{Kind: antreaPolicies, Namespace: namespace, Directions: [2]bool{true, true}}
}

func TestUnsupportedPoliciesAreFound(t *testing.T) {
	cilium := snapshot.Read{Kind: snapshot.CiliumNetworkPolicies, Version: "v2", Status: snapshot.Absent}
	for name, tt := range map[string]struct {
		kinds  []snapshot.Kind
		serves string
		items  string
		want   []snapshot.Unsupported
		more   []snapshot.Read
	}{
		"where they are": {
			engines, antreaServed,
			`{"metadata":{"name":"a","namespace":"shop"}},{"metadata":{"name":"b","namespace":"shop"}},
				{"metadata":{"name":"a","namespace":"bank"}}`,
			[]snapshot.Unsupported{mayBeIn("bank"), mayBeIn("shop")},
			nil,
		},
		"nowhere, if there are none": {engines, antreaServed, "", nil, nil},
		"anywhere, if they are in no namespace": {
			engines, antreaServed + " cluster", `{"metadata":{"name":"a"}}`, []snapshot.Unsupported{mayBeIn("")}, nil,
		},
		"anywhere, if they cannot be listed": {
			engines, antreaServed, "403",
			[]snapshot.Unsupported{mayBeIn("")},
			[]snapshot.Read{{Kind: antreaPolicies, Version: "v1beta1", Status: snapshot.Forbidden, Err: "no"}},
		},
		"not at all, if no policies are requested": {routes, antreaServed, "403", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := hostAPI{serves: []string{tt.serves}, lists: map[string]string{antreaPath: tt.items}}
			s := read(t, newSource(t, serve(t, api), source.Options{}), tt.kinds)
			if diff := cmp.Diff(tt.want, unmodelled(s)); diff != "" {
				t.Errorf("unmodelled (-want +got):\n%s", diff)
			}
			want := append([]snapshot.Read{cilium}, tt.more...)
			if tt.kinds[0] == snapshot.HTTPRoutes {
				want = []snapshot.Read{{Kind: snapshot.HTTPRoutes, Version: "v1", Status: snapshot.Absent}}
			}
			if diff := cmp.Diff(want, s.Reads()); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}

// As for other kinds, what was read of an expired list does not count.
func TestUnsupportedPoliciesAreReadInPages(t *testing.T) {
	api := &fakeAPI{names: map[string][]string{antreaPath: {"a", "b", "c"}}, serves: []string{antreaServed}}
	expire := kubetest.First(always, kubetest.Page("networkpolicies", true), kubetest.Expire())
	s := read(t, newSource(t, serve(t, kubetest.Disturb(api, expire)), source.Options{}), engines)
	want := []snapshot.Read{
		{Kind: snapshot.CiliumNetworkPolicies, Version: "v2", Status: snapshot.Absent},
		{
			Kind: antreaPolicies, Version: "v1beta1", Status: snapshot.Failed,
			Err: "the list expired 4 times before it was complete",
		},
	}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]snapshot.Unsupported{mayBeIn("")}, unmodelled(s)); diff != "" {
		t.Errorf("unmodelled (-want +got):\n%s", diff)
	}
}

// A deadline must not make a cluster look as if it had none.
func TestUnsupportedPoliciesTakeTooLong(t *testing.T) {
	api := hostAPI{serves: []string{antreaServed, "example.com/v1 fancynetworkpolicies FancyNetworkPolicy"}}
	hang := kubetest.First(always, kubetest.Page("networkpolicies", false), kubetest.Hang())
	source := newSource(t, serve(t, kubetest.Disturb(api, hang)), source.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	var b snapshot.Builder
	if _, err := source.Read(ctx, engines, &b); err != nil {
		t.Fatal(err)
	}
	s := b.Freeze()
	want := []snapshot.Read{
		{Kind: snapshot.CiliumNetworkPolicies, Version: "v2", Status: snapshot.Absent},
		{Kind: antreaPolicies, Status: snapshot.Failed, Err: "timed out before the list was complete"},
		{
			Kind: "fancynetworkpolicies.example.com", Version: "v1", Status: snapshot.Failed,
			Err: "the server responds that it does not know this kind, but discovery says that it serves it",
		},
	}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if n := len(unmodelled(s)); n != 2 {
		t.Errorf("%d unmodelled kinds, want 2", n)
	}
}
