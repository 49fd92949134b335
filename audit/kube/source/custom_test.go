package source_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var allRoutes = []string{"r1", "r2", "r3", "r4", "r5"}

// What comes as JSON is read with the same care as what typed clients read.
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

// An object that makes no sense does so however often it is asked for, and
// without it the kind is not known.
func TestRouteThatMakesNoSenseIsNotAskedForAgain(t *testing.T) {
	var seen recorder
	odd := ok(`{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"},"spec":[]}]}`)
	decide := func(r *http.Request) kubetest.Answer {
		seen.decide(r)
		return kubetest.First(always, kubetest.Page("httproutes", false), odd)(r)
	}
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
	s := read(t, source, routes)
	want := []snapshot.Read{{
		Kind: snapshot.HTTPRoutes, Version: "v1", Status: snapshot.Failed,
		Err: "decode HTTPRoute: json: cannot unmarshal array into Go struct field HTTPRoute.spec of type v1.HTTPRouteSpec",
	}}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if got, want := seen.paths(), []string{discoveryPath, routesPath}; !cmp.Equal(want, got) {
		t.Errorf("requests %v, want %v", got, want)
	}
	if names := routeNames(s); len(names) > 0 {
		t.Errorf("a part of the list came through: %v", names)
	}
}
