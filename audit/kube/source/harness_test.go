package source_test

import (
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var (
	namespaces = []snapshot.Kind{snapshot.Namespaces}
	ingresses  = []snapshot.Kind{snapshot.Ingresses}
	routes     = []snapshot.Kind{snapshot.HTTPRoutes}
)

// newSource returns a source that reads two objects a page and waits for
// nothing, but the options say otherwise.
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

// serveTLS serves with a certificate that nobody signed, and returns the URL.
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
