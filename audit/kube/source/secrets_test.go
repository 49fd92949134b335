package source_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// everything is an API server that serves whatever it is asked for, and notes it.
type everything struct {
	serves []string
	mu     sync.Mutex
	asked  map[string]bool // verb and path
}

func (e *everything) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.asked[r.Method+" "+r.URL.Path] = true
	e.mu.Unlock()
	if r.URL.Path == discoveryPath {
		discovery(w, e.serves)
		return
	}
	answer(w, map[string]any{"metadata": map[string]string{"resourceVersion": "7"}, "items": []any{}})
}

// paths returns what was asked for, sorted.
func (e *everything) paths() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.asked))
}

// TestNoSecretIsEverAskedFor reads, and reads again in parts, all that any rule can
// ask for, from an API server that serves all of it, Secrets, and policies that
// nobody knows: of nothing that is called a Secret there is a request, and of
// ConfigMaps there are those to Cilium's own.
func TestNoSecretIsEverAskedFor(t *testing.T) {
	hosts := append(hostsource.BuiltIn(), ownSource(t, servicesKind, "Service"))
	server := &everything{
		asked:  map[string]bool{},
		serves: []string{"cilium.io/v2 ciliumnetworkpolicies CiliumNetworkPolicy", "example.com/v1 odd OddNetworkPolicy", "v1/v1 secrets Secret"},
	}
	for _, c := range ingest.Customs() {
		server.serves = append(server.serves, fmt.Sprintf("%s/%s %s %s", c.Kind.Group(), c.Versions[0], c.Kind.Resource(), c.Object))
	}
	for _, s := range hostsource.BuiltIn() {
		server.serves = append(server.serves, fmt.Sprintf("%s/%s %s %s", s.Kind.Group(), s.Versions[0], s.Kind.Resource(), s.Object))
	}
	source := newSource(t, serve(t, server), source.Options{HostSources: hosts})
	s := read(t, source, audit.Needs(catalog.All()))
	var parts []snapshot.Part
	for _, r := range s.Reads() {
		parts = append(parts, snapshot.Part{Kind: r.Kind}, snapshot.Part{Kind: r.Kind, Namespace: "a"})
		if !slices.ContainsFunc(server.paths(), func(p string) bool { return strings.Contains(p, "/"+r.Kind.Resource()) }) {
			t.Errorf("%s was not asked for, so nothing was tested of it", r.Kind)
		}
	}
	var b snapshot.Builder
	if _, _, err := source.Reread(t.Context(), parts, func(snapshot.Kind) string { return "v1" }, &b); err != nil {
		t.Fatal(err)
	}
	if len(parts) < 60 {
		t.Errorf("only %d parts were read", len(parts))
	}
	for _, path := range server.paths() {
		configMap := strings.Contains(path, "/configmaps") && !strings.HasSuffix(path, "/configmaps/cilium-config")
		if strings.Contains(strings.ToLower(path), "secret") || configMap || !strings.HasPrefix(path, "GET ") {
			t.Errorf("asked for %s", path)
		}
	}
}

// Whoever makes a source cannot make it read Secrets, whatever the config let pass.
func TestSecretsAreNoSourceOfHosts(t *testing.T) {
	server := &everything{asked: map[string]bool{}}
	cfg := serve(t, server)
	_, err := source.New(cfg, source.Options{HostSources: []hostsource.Source{
		ownSource(t, servicesKind, "Service"), ownSource(t, snapshot.KindOf("", "secrets"), "Secret"),
	}})
	if err == nil || err.Error() != "Secrets are never read: they cannot be a source of hosts" || len(server.paths()) > 0 {
		t.Errorf("the error is %v, and the server was asked for %v", err, server.paths())
	}
}
