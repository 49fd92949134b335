package source_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// discoveryOnly matches the one request that asks what is served.
func discoveryOnly(r *http.Request) bool { return r.URL.Path == discoveryPath }

// gatewayKinds are custom kinds of which the fake API server has one.
var gatewayKinds = []snapshot.Kind{snapshot.GRPCRoutes, snapshot.Gateways, snapshot.HTTPRoutes, snapshot.XListenerSets}

func TestDiscoveryIsAskedOnce(t *testing.T) {
	var seen recorder
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), seen.decide)), source.Options{PageSize: 100})
	s := read(t, source, append(slices.Clone(gatewayKinds), snapshot.Ingresses, snapshot.Namespaces))
	want := []string{namespacesPath, discoveryPath, routesPath, ingressesPath}
	if diff := cmp.Diff(want, seen.paths()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, r := range s.Reads() {
		want := snapshot.Listed
		if slices.Contains(gatewayKinds, r.Kind) && r.Kind != snapshot.HTTPRoutes {
			want = snapshot.Absent
		}
		if r.Status != want || r.Version == "" {
			t.Errorf("%s %s is %s (%s), want %s", r.Kind, r.Version, r.Status, r.Err, want)
		}
	}
}

func TestDiscoveryIsNotAskedWhereNothingNeedsIt(t *testing.T) {
	var seen recorder
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), seen.decide)), source.Options{PageSize: 100})
	read(t, source, []snapshot.Kind{snapshot.Ingresses, snapshot.Namespaces, snapshot.Pods})
	want := []string{namespacesPath, podsPath, ingressesPath}
	if diff := cmp.Diff(want, seen.paths()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestDiscoveryIsAskedAgainAfterAFault(t *testing.T) {
	for name, answer := range map[string]kubetest.Answer{
		"a server that is busy":     kubetest.TooManyRequests(-1),
		"an answer that was cut":    kubetest.Cut(30),
		"an answer that is garbled": ok(`{"kind":"APIGroupDiscoveryList","items":[`),
		"a gateway without server":  kubetest.Text(502, "<html>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decide := kubetest.First(1, discoveryOnly, answer)
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
			checkRead(t, read(t, source, routes), snapshot.HTTPRoutes)
		})
	}
}

// Without an answer of discovery no custom kind is known; the others are.
func TestCustomKindsAreUnknownWithoutDiscovery(t *testing.T) {
	const groupList = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"gateway.networking.k8s.io"}]}`
	for name, tt := range map[string]struct {
		answer kubetest.Answer
		status snapshot.Status
		reason string
	}{
		"of a server that is too old": {
			ok(groupList), snapshot.Failed,
			"the server only says group by group what it serves: it is older than Kubernetes 1.27, or its aggregated discovery is off",
		},
		"that the account may not ask for": {
			kubetest.Fail(403, metav1.StatusReasonForbidden, `forbidden: User "guest" cannot get path "/apis"`),
			snapshot.Forbidden, `forbidden: User "guest" cannot get path "/apis"`,
		},
		"of a server that is none": {
			kubetest.Text(404, "not here"), snapshot.Failed,
			"the server does not say what it serves: is it a Kubernetes API server?",
		},
		"of a server that serves nothing": {
			ok(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`), snapshot.Failed,
			"the server says that it serves nothing at all: is it a Kubernetes API server?",
		},
		"that a gateway forbids": {kubetest.Text(403, "no entry"), snapshot.Forbidden, "no entry"},
		"of a server that errs for good": {
			kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd"), snapshot.Failed, "HTTP 500: etcd",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decide := kubetest.First(always, discoveryOnly, tt.answer)
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
			s := read(t, source, append(slices.Clone(gatewayKinds), snapshot.Ingresses))
			for _, r := range s.Reads() {
				want := snapshot.Read{Kind: r.Kind, Status: tt.status, Err: tt.reason}
				if r.Kind == snapshot.Ingresses {
					want = snapshot.Read{Kind: r.Kind, Version: "v1", Status: snapshot.Listed, Items: 5}
				}
				if diff := cmp.Diff(want, r); diff != "" {
					t.Errorf("read (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Before Kubernetes 1.30 there is aggregated discovery in an older form only. A
// server takes the first form of those asked for that it knows.
func TestDiscoveryInItsOlderForm(t *testing.T) {
	old := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.Contains(r.Header.Get("Accept"), "g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList") {
			_ = json.NewEncoder(w).Encode(map[string]string{"kind": "APIGroupList"})
			return
		}
		next.ServeHTTP(w, r)
	}
	decide := kubetest.First(always, discoveryOnly, old)
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
	checkRead(t, read(t, source, routes), snapshot.HTTPRoutes)
}
