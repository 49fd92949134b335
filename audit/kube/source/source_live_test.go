package source_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestLivePagesHoldAllObjects(t *testing.T) {
	c := control.Cluster(t)
	populate(t, c)
	small := read(t, newSource(t, c.Config(kubetest.Admin), source.Options{PageSize: 2}), worldKinds)
	for _, r := range small.Reads() {
		want := worldSize
		if r.Kind == snapshot.Namespaces {
			want += 4 // those of the API server
		}
		if r.Status != snapshot.Listed || r.Items != want {
			t.Errorf("%s is %s with %d objects (%s), want %d", r.Kind, r.Status, r.Items, r.Err, want)
		}
	}
	large := read(t, newSource(t, c.Config(kubetest.Admin), source.Options{PageSize: 500}), worldKinds)
	sameWorld(t, large, small)
}

func TestLiveAccountThatMayListAllButNetworkPolicies(t *testing.T) {
	c := control.Cluster(t)
	populate(t, c)
	allow(t, c, "", "namespaces", "pods", "replicationcontrollers")
	allow(t, c, "apps", "*")
	allow(t, c, "batch", "*")
	allow(t, c, "admissionregistration.k8s.io", "*")
	allow(t, c, "networking.k8s.io", "ingresses", "ingressclasses")
	s := read(t, newSource(t, c.Config(kubetest.Guest), source.Options{}), worldKinds)
	for _, r := range s.Reads() {
		switch {
		case r.Kind == snapshot.NetworkPolicies:
			want := snapshot.Read{
				Kind: snapshot.NetworkPolicies, Version: "v1", Status: snapshot.Forbidden,
				Err: `User "guest" cannot list resource "networkpolicies" in API group "networking.k8s.io" at the cluster scope`,
			}
			if diff := cmp.Diff(want, r); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		case r.Status != snapshot.Listed || r.Items < worldSize:
			t.Errorf("%s is %s with %d objects: %s", r.Kind, r.Status, r.Items, r.Err)
		}
	}
}

func TestLiveAccountThatMayListNothing(t *testing.T) {
	c := control.Cluster(t)
	populate(t, c)
	s := read(t, newSource(t, c.Config(kubetest.Guest), source.Options{}), worldKinds)
	for _, r := range s.Reads() {
		if r.Status != snapshot.Forbidden || r.Items != 0 || !strings.HasPrefix(r.Err, `User "guest" cannot list resource`) {
			t.Errorf("%s is %s with %d objects: %s", r.Kind, r.Status, r.Items, r.Err)
		}
	}
}

func TestLiveAccountWithWrongToken(t *testing.T) {
	cfg := control.Cluster(t).Config(kubetest.Guest)
	cfg.BearerToken = "wrong"
	for _, r := range read(t, newSource(t, cfg, source.Options{}), worldKinds).Reads() {
		if r.Status != snapshot.Failed || r.Err != "HTTP 401: Unauthorized" {
			t.Errorf("%s is %s: %s", r.Kind, r.Status, r.Err)
		}
	}
}

func TestLiveDisturbedReadIsLikeAnUndisturbedOne(t *testing.T) {
	c := control.Cluster(t)
	populate(t, c)
	testDisturbed(t, c, worldKinds, "ingresses")
}

// testDisturbed reads kinds while something goes wrong once, with one of them or
// with each, and compares the result with an undisturbed read.
func testDisturbed(t *testing.T, c *kubetest.Cluster, kinds []snapshot.Kind, resource string) {
	t.Helper()
	first, later := kubetest.Page(resource, false), kubetest.Page(resource, true)
	undisturbed := read(t, newSource(t, c.Config(kubetest.Admin), source.Options{}), kinds)
	for name, tt := range map[string]struct {
		matches func(*http.Request) bool
		answer  kubetest.Answer
	}{
		"a continue token that expires":            {later, kubetest.Expire()},
		"a continue token of each kind expires":    {anyLaterPage, kubetest.Expire()},
		"a server that is busy for a second":       {later, kubetest.TooManyRequests(1)},
		"a first page that is cut":                 {first, kubetest.Cut(100)},
		"a later page that is cut":                 {later, kubetest.Cut(100)},
		"a connection that breaks before the body": {later, kubetest.Cut(0)},
		"a bad gateway for each kind":              {anything, kubetest.Text(502, "bad gateway")},
	} {
		t.Run(name, func(t *testing.T) {
			var once oncePerPath
			p := c.StartProxy(t, once.decide(tt.matches, tt.answer))
			sameWorld(t, undisturbed, read(t, newSource(t, p.Config(kubetest.Admin), source.Options{}), kinds))
			if once.seen == nil {
				t.Error("nothing was disturbed")
			}
		})
	}
}

func anyLaterPage(r *http.Request) bool { return r.URL.Query().Has("continue") }

// oncePerPath disturbs the first request that matches of each path.
type oncePerPath struct {
	mu   sync.Mutex
	seen map[string]bool
}

func (o *oncePerPath) decide(matches func(*http.Request) bool, answer kubetest.Answer) kubetest.Decide {
	return func(r *http.Request) kubetest.Answer {
		o.mu.Lock()
		defer o.mu.Unlock()
		if !matches(r) || o.seen[r.URL.Path] {
			return nil
		}
		if o.seen == nil {
			o.seen = map[string]bool{}
		}
		o.seen[r.URL.Path] = true
		return answer
	}
}

// A server without the group responds with another 404 than one that lacks a
// kind of a group that it has.
func TestLiveKindsOfAGroupThatIsOffAreAbsent(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an API server")
	}
	c, err := kubetest.Start(t.Context(), kubetest.Options{APIServerFlags: []string{"--runtime-config=batch/v1=false"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	s := read(t, newSource(t, c.Config(kubetest.Admin), source.Options{}), worldKinds)
	for _, r := range s.Reads() {
		want := snapshot.Listed
		if r.Kind.Group() == "batch" {
			want = snapshot.Absent
		}
		if r.Status != want {
			t.Errorf("%s is %s (%s), want %s", r.Kind, r.Status, r.Err, want)
		}
	}
}

// allow lets the guest list the resources of a group.
func allow(t *testing.T, c *kubetest.Cluster, group string, resources ...string) {
	t.Helper()
	rule := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"list"}}
	if err := c.Allow(t.Context(), kubetest.Guest, rule); err != nil {
		t.Fatal(err)
	}
}

func sameWorld(t *testing.T, want, got *snapshot.Snapshot) {
	t.Helper()
	if diff := cmp.Diff(want.Reads(), got.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("the facts differ:\n%+v\n%+v", want, got)
	}
}

func TestLiveCustomKindsAreRead(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	populateCustom(t, c)
	t.Run("in pages", func(t *testing.T) {
		small := read(t, newSource(t, c.Config(kubetest.Admin), source.Options{PageSize: 2}), customKinds())
		for _, r := range small.Reads() {
			if r.Status != snapshot.Listed || r.Items != len(names(r.Kind)) {
				t.Errorf("%s is %s with %d objects (%s), want %d", r.Kind, r.Status, r.Items, r.Err, len(names(r.Kind)))
			}
		}
		sameWorld(t, read(t, newSource(t, c.Config(kubetest.Admin), source.Options{PageSize: 500}), customKinds()), small)
	})
	t.Run("as they are stored", func(t *testing.T) {
		s := read(t, newSource(t, c.Config(kubetest.Admin), source.Options{}), snapshot.PolicyKinds())
		found := 0
		for p := range s.View(snapshot.PolicyKinds()...).Policies() {
			if p.Kind != "CiliumNetworkPolicy" {
				continue
			}
			found++
			// This would differ if its empty lists had been lost on the way.
			if want := [2]bool{true, false}; p.Isolates != want || len(p.Rules[snapshot.DirectionIngress]) > 0 {
				t.Errorf("%s isolates %v and lets through %v, want %v and nothing", p.Ref(), p.Isolates, p.Rules[snapshot.DirectionIngress], want)
			}
		}
		if found != worldSize {
			t.Errorf("%d policies of Cilium, want %d", found, worldSize)
		}
	})
	t.Run("by an account that may list nothing", func(t *testing.T) {
		for _, r := range read(t, newSource(t, c.Config(kubetest.Guest), source.Options{}), customKinds()).Reads() {
			if r.Status != snapshot.Forbidden || r.Items != 0 || !strings.HasPrefix(r.Err, `User "guest" cannot `) {
				t.Errorf("%s is %s with %d objects: %s", r.Kind, r.Status, r.Items, r.Err)
			}
		}
	})
	testDisturbed(t, c, customKinds(), "httproutes")
}

// TestLiveDiscovery counts the requests of a sweep to a server with custom kinds and to
// one without.
func TestLiveDiscovery(t *testing.T) {
	t.Run("with custom kinds", func(t *testing.T) {
		var want []string
		for _, c := range ingest.Customs() {
			for _, name := range c.Only {
				want = append(want, "/api/v1/namespaces/"+name.Namespace+"/configmaps/"+name.Name)
			}
			if len(c.Only) == 0 {
				want = append(want, "/apis/"+c.Kind.Group()+"/"+c.Versions[0]+"/"+c.Kind.Resource())
			}
		}
		want = append(want, discoveryPath, ingressesPath,
			"/apis/crd.antrea.io/v1beta1/networkpolicies", "/apis/crd.antrea.io/v1beta1/clusternetworkpolicies")
		slices.Sort(want)
		if diff := cmp.Diff(want, pathsOf(t, control.ClusterWithCRDs(t), append(customKinds(), snapshot.Ingresses))); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
	t.Run("without", func(t *testing.T) {
		want := []string{discoveryPath, ingressesPath}
		if diff := cmp.Diff(want, pathsOf(t, control.Cluster(t), append(customKinds(), snapshot.Ingresses))); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	})
}

// pathsOf returns the paths that are requested when kinds are read, sorted.
func pathsOf(t *testing.T, c *kubetest.Cluster, kinds []snapshot.Kind) []string {
	t.Helper()
	var seen recorder
	p := c.StartProxy(t, seen.decide)
	s := read(t, newSource(t, p.Config(kubetest.Admin), source.Options{}), kinds)
	for _, r := range s.Reads() {
		if !r.Status.Known() {
			t.Errorf("%s is %s: %s", r.Kind, r.Status, r.Err)
		}
	}
	return seen.paths()
}

// elsewhere is a group that an aggregated API server would serve, if it
// existed.
const elsewhere = `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v3.projectcalico.org}
spec:
  group: projectcalico.org
  version: v3
  groupPriorityMinimum: 1500
  versionPriority: 200
  insecureSkipTLSVerify: true
  service: {name: calico-api, namespace: calico-system}
`

func TestLiveGroupWhoseServerIsDownIsUnknown(t *testing.T) {
	c := control.Cluster(t)
	if err := c.InstallCRDs(t.Context(), "../../../testdata/crds/calico-stored.yaml"); err != nil {
		t.Fatal(err)
	}
	source := newSource(t, c.Config(kubetest.Admin), source.Options{})
	create(t, c, elsewhere)
	// Nothing else removes it.
	defer func() {
		kubectl(t, c, "delete", "apiservice", "v3.projectcalico.org")
		awaitStatus(t, source, snapshot.CalicoTiers, snapshot.Absent)
	}()
	awaitStatus(t, source, snapshot.CalicoTiers, snapshot.Failed)
	kinds := []snapshot.Kind{snapshot.CalicoNetworkPolicies, snapshot.CalicoTiers, snapshot.HTTPRoutes, snapshot.StoredCalicoTiers}
	for _, r := range read(t, source, kinds).Reads() {
		want := snapshot.Read{Kind: r.Kind, Version: r.Version, Status: snapshot.Failed, Err: "the API server cannot reach the server of this group"}
		switch r.Kind {
		case snapshot.HTTPRoutes:
			want.Status, want.Err = snapshot.Absent, ""
		case snapshot.StoredCalicoTiers:
			want.Status, want.Err = snapshot.Listed, ""
		}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	}
}

// awaitStatus waits, within limits, until a kind has the wanted status: discovery
// lags behind what is stored.
func awaitStatus(t *testing.T, source *source.Source, kind snapshot.Kind, want snapshot.Status) {
	t.Helper()
	var got snapshot.Status
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if got = read(t, source, []snapshot.Kind{kind}).Status(kind); got == want {
			return
		}
	}
	t.Fatalf("%s is still %s, want %s", kind, got, want)
}
