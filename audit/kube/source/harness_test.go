package source_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

var (
	namespaces = []snapshot.Kind{snapshot.Namespaces}
	ingresses  = []snapshot.Kind{snapshot.Ingresses}
	routes     = []snapshot.Kind{snapshot.HTTPRoutes}
)

// newSource returns a source that reads two objects a page and does not wait,
// unless the options say otherwise.
func newSource(t *testing.T, cfg *rest.Config, opts source.Options) *source.Source {
	t.Helper()
	if opts.PageSize == 0 {
		opts.PageSize = 2
	}
	if opts.Sleep == nil {
		opts.Sleep = func(context.Context, time.Duration) {}
	}
	source, err := source.New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func serve(t *testing.T, handler http.Handler) *rest.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// serveTLS serves with an untrusted certificate, and returns the URL.
func serveTLS(t *testing.T, handler http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// read reads kinds to the end and returns the snapshot.
func read(t *testing.T, source *source.Source, kinds []snapshot.Kind) *snapshot.Snapshot {
	t.Helper()
	var b snapshot.Builder
	if _, err := source.Read(t.Context(), kinds, &b); err != nil {
		t.Fatal(err)
	}
	return b.Freeze()
}

// ingressNames returns the names of the ingresses in the snapshot.
func ingressNames(s *snapshot.Snapshot) []string {
	var names []string
	for i := range s.View(snapshot.Ingresses).Ingresses() {
		names = append(names, i.Name)
	}
	return names
}

// routeNames returns the names of the routes in the snapshot.
func routeNames(s *snapshot.Snapshot) []string {
	var names []string
	for r := range s.View(snapshot.GRPCRoutes, snapshot.HTTPRoutes, snapshot.TLSRoutes).Routes() {
		names = append(names, r.Name)
	}
	return names
}

// fakeAPI serves lists page by page, as an API server does. client-go's fake
// clientset does not support pages.
type fakeAPI struct {
	mu     sync.Mutex
	names  map[string][]string // of the objects, by the path of the list
	serves []string            // the custom kinds among them, as discovery takes them
}

const (
	namespacesPath = "/api/v1/namespaces"
	podsPath       = "/api/v1/pods"
	ingressesPath  = "/apis/networking.k8s.io/v1/ingresses"
	routesPath     = "/apis/gateway.networking.k8s.io/v1/httproutes"
	discoveryPath  = "/apis"
)

func newFakeAPI() *fakeAPI {
	return &fakeAPI{
		names: map[string][]string{
			namespacesPath: {"a", "b", "c"},
			podsPath:       {"p1", "p2"},
			ingressesPath:  {"i1", "i2", "i3", "i4", "i5"},
			routesPath:     {"r1", "r2", "r3", "r4", "r5"},
		},
		serves: []string{"gateway.networking.k8s.io/v1 httproutes HTTPRoute"},
	}
}

// remove deletes the first object of a list.
func (f *fakeAPI) remove(path string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[path] = f.names[path][1:]
}

type object struct {
	Metadata metadata `json:"metadata"`
}

type metadata struct {
	Name string `json:"name"`
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names, ok := f.names[r.URL.Path]
	switch {
	case ok:
		f.list(w, r, names)
	case r.URL.Path == discoveryPath:
		discovery(w, f.serves)
	case f.discover(w, r.URL.Path):
	default:
		http.NotFound(w, r)
	}
}

// list responds with one page. The token of the next is the number of objects
// before it.
func (f *fakeAPI) list(w http.ResponseWriter, r *http.Request, names []string) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	meta := map[string]string{"resourceVersion": "7"}
	to := len(names)
	if limit > 0 && from+limit < to {
		to = from + limit
		meta["continue"] = strconv.Itoa(to)
	}
	items := []object{}
	for _, name := range names[from:to] {
		items = append(items, object{metadata{name}})
	}
	answer(w, map[string]any{"metadata": meta, "items": items})
}

// discover responds with what a group serves, if the path is that of a group.
func (f *fakeAPI) discover(w http.ResponseWriter, path string) bool {
	var resources []metadata
	for list := range f.names {
		if group, resource, ok := strings.Cut(list, path+"/"); ok && group == "" && !strings.Contains(resource, "/") {
			resources = append(resources, metadata{resource})
		}
	}
	if len(resources) == 0 {
		return false
	}
	answer(w, map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "resources": resources})
	return true
}

// discovery responds with what is served: a line for each kind and version, as
// "group/version plural Kind", followed by "cluster" or "stale" where that applies.
func discovery(w http.ResponseWriter, serves []string) {
	groups := []any{}
	for _, line := range serves {
		word := strings.Fields(line)
		group, version, _ := strings.Cut(word[0], "/")
		scope, freshness := "Namespaced", "Current"
		switch word[len(word)-1] {
		case "cluster":
			scope = "Cluster"
		case "stale":
			freshness = "Stale"
		}
		groups = append(groups, map[string]any{
			"metadata": map[string]any{"name": group},
			"versions": []any{map[string]any{
				"version": version, "freshness": freshness,
				"resources": []any{map[string]any{
					"resource": word[1], "scope": scope, "verbs": []string{"list"},
					"responseKind": map[string]any{"group": group, "version": version, "kind": word[2]},
				}},
			}},
		})
	}
	answer(w, map[string]any{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": groups})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	// A failed write means that the client is gone.
	_ = json.NewEncoder(w).Encode(body)
}
