package events_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/events"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// TestLiveDescribeShowsEventsOfCustomKinds: of these only discovery tells the plural
// and the versions, and two groups have a kind of one name.
func TestLiveDescribeShowsEventsOfCustomKinds(t *testing.T) {
	c := control.ClusterWithCRDs(t)
	manifest := filepath.Join(t.TempDir(), "routes.yaml")
	if err := os.WriteFile(manifest, []byte(`apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: web, namespace: default}
spec: {routes: [{kind: Rule, match: "Host(`+"`shop.example.com`"+`)"}]}
---
apiVersion: traefik.containo.us/v1alpha1
kind: IngressRoute
metadata: {name: web, namespace: default}
spec: {routes: [{kind: Rule, match: "Host(`+"`shop.example.com`"+`)"}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	must(c.Kubectl(t.Context(), "apply", "-f", manifest))(t)
	events := newEvents(t, c.Config(kubetest.Admin), events.Options{})
	for _, row := range []struct{ group, other string }{
		{"traefik.io", "traefik.containo.us"},
		{"traefik.containo.us", "traefik.io"},
	} {
		r := on(aRecord("shop.example.com"), snapshot.Ref{Group: row.group, Kind: "IngressRoute", Namespace: "default", Name: "web"})
		r.Message = "seen in " + row.group
		if diff := cmp.Diff(sent, events.Record(t.Context(), monday, became(audit.ReasonOpened, r))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.group, diff)
		}
		shown := describedEvents(must(c.Kubectl(t.Context(), "describe", "ingressroutes."+row.group, "web"))(t))
		if !strings.Contains(shown, "seen in "+row.group+" ") || strings.Contains(shown, "seen in "+row.other+" ") {
			t.Errorf("kubectl describe ingressroutes.%s shows:\n%s", row.group, shown)
		}
	}
}
