package source_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// TestLiveDiscovery counts what a sweep asks of a server with custom kinds and of
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

// pathsOf returns the paths that are asked for when kinds are read, sorted.
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

// elsewhere is a group that a server beside the API server would serve, if it
// were there.
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

func TestLiveGroupWhoseServerIsAwayIsUnknown(t *testing.T) {
	c := control.Cluster(t)
	if err := c.InstallCRDs(t.Context(), "../../../testdata/crds/calico-stored.yaml"); err != nil {
		t.Fatal(err)
	}
	source := newSource(t, c.Config(kubetest.Admin), source.Options{})
	create(t, c, elsewhere)
	// Nothing else takes it away again.
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

// awaitStatus waits, but not for ever, until a kind is read in the way that is
// wanted: discovery is a moment behind what is stored.
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
