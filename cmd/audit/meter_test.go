package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/notify/metrics"
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

// counting is a gateway that takes everything, and counts.
func counting(t *testing.T) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func TestASweepThatOnlyLooksPushesNothing(t *testing.T) {
	url, requests := counting(t)
	path := configured(t, "cluster: prod\npushgateway: {url: "+url+"}\n")
	if got := execute("--once", "--from", estateDir, "--config", path); got.code != exitFindings {
		t.Fatalf("exit %d: %s", got.code, got.stderr)
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("it made %d requests", n)
	}
}

func TestSweeperPushesAfterItLogged(t *testing.T) {
	var failing atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if failing.Load() {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	g, err := metrics.NewGateway(metrics.Options{URL: server.URL}, "prod", metrics.Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	board := metrics.NewBoard("prod", metrics.Vocabulary{})
	s := &sweeper{
		limit: time.Minute, now: time.Now, log: untimed(&out), meter: &meter{gateway: g, board: board, now: time.Now},
		publish: func(context.Context) (*audit.Result, *audit.Published, error) {
			return &audit.Result{}, &audit.Published{}, nil
		},
	}
	if !s.sweep(t.Context()) || strings.Contains(out.String(), "not pushed") {
		t.Errorf("it logs %s", &out)
	}
	failing.Store(true)
	out.Reset()
	if !s.sweep(t.Context()) {
		t.Error("a sweep is not complete because it is not counted")
	}
	if log := out.String(); !strings.Contains(log, "msg=sweep complete=true") || !strings.Contains(log, `level=ERROR msg="metrics not pushed"`) || !strings.Contains(log, server.URL) {
		t.Errorf("it logs %s", log)
	}
	if text := boardText(board); !strings.Contains(text, `audit_sweep_complete{cluster="prod"} 1`) {
		t.Errorf("the board shows %s", text)
	}
}

func TestSweepThatIsCancelledIsNotTold(t *testing.T) {
	url, requests := counting(t)
	g, err := metrics.NewGateway(metrics.Options{URL: url}, "prod", metrics.Vocabulary{})
	if err != nil {
		t.Fatal(err)
	}
	m := &meter{gateway: g, now: time.Now}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.end(cancelled, m.begin(), nil, nil, context.Canceled); err != nil || requests.Load() != 0 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
	// One that took too long has something to tell.
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if err := m.end(late, m.begin(), nil, nil, errors.New("too late")); err != nil || requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func boardText(b *metrics.Board) string {
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

func TestMeterCountsWhatOneSweepUsed(t *testing.T) {
	c := &usage{kube.Usage{Requests: 100, Retries: 10, Bytes: 1000}}
	m := &meter{board: metrics.NewBoard("prod", metrics.Vocabulary{}), now: time.Now, clients: []client{{"source", c}}}
	began := m.begin()
	c.used = kube.Usage{Requests: 107, Retries: 11, Bytes: 1500}
	if err := m.end(t.Context(), began, &audit.Result{}, &audit.Published{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`audit_api_requests{client="source",cluster="prod"} 7`, `audit_api_retries{client="source",cluster="prod"} 1`,
		`audit_api_response_bytes{client="source",cluster="prod"} 500`,
	} {
		if text := boardText(m.board); !strings.Contains(text, want+"\n") {
			t.Errorf("it does not show %s", want)
		}
	}
}

func TestVocabularyIsThatOfTheProgramAndTheConfig(t *testing.T) {
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
	v := (&sweepOptions{config: c}).vocabulary()
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
