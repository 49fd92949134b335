package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// configured writes a config and returns its path.
func configured(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// counting is a gateway that accepts everything, and counts.
func counting(t *testing.T) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func TestSweepWithoutPublishPushesNothing(t *testing.T) {
	url, requests := counting(t)
	path := configured(t, "cluster: prod\npushgateway: {url: "+url+"}\n")
	if got := execute("--once", "--from", estateDir, "--config", path); got.code != exitFindings {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("it made %d requests", n)
	}
}

func TestLabelValuesAreThoseOfTheProgramAndTheConfig(t *testing.T) {
	c, err := config.Parse([]byte(`
owners:
  fallback: platform
  teams: [{name: team-b}, {name: team-a}]
hostSources:
- {group: "", version: v1, resource: services, kind: Service, hosts: "[]"}
- {group: route.openshift.io, resource: routes, enabled: false}
`), "c.yaml", catalog.All())
	if err != nil {
		t.Fatal(err)
	}
	v := labelValues(&c)
	if diff := cmp.Diff([]string{"platform", "team-b", "team-a"}, v.Owners); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	kinds := map[snapshot.Kind]bool{}
	for _, k := range v.Kinds {
		kinds[k] = true
	}
	if !kinds[snapshot.Ingresses] || !kinds["services"] || kinds["routes.route.openshift.io"] || kinds[snapshot.HostSources] {
		t.Errorf("kinds: %v", v.Kinds)
	}
	if len(v.Rules) != len(catalog.All()) {
		t.Errorf("rules: %v", v.Rules)
	}
}
