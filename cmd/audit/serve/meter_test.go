package serve

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/notify/metrics"
)

// counting is a gateway that takes everything, and counts.
func counting(t *testing.T) (url string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(server.Close)
	return server.URL, requests
}

func TestSweeperPushesAfterItLogged(t *testing.T) {
	var failing atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if failing.Load() {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer server.Close()
	g, err := metrics.NewPusher(metrics.Options{URL: server.URL}, "prod", metrics.LabelValues{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	exporter := metrics.NewExporter("prod", metrics.LabelValues{})
	s := &sweeper{
		limit: time.Minute, now: time.Now, log: untimed(&out), meter: &Meter{Pusher: g, Exporter: exporter, Now: time.Now},
		publish: func(context.Context) (*audit.Result, *audit.Published, error) {
			return &audit.Result{}, &audit.Published{}, nil
		},
	}
	if !s.sweep(t.Context()) || strings.Contains(out.String(), "push metrics") {
		t.Errorf("it logs %s", &out)
	}
	failing.Store(true)
	out.Reset()
	if !s.sweep(t.Context()) {
		t.Error("the sweep is incomplete only because its metrics could not be pushed")
	}
	if log := out.String(); !strings.Contains(log, "msg=sweep complete=true") || !strings.Contains(log, `err="push metrics: `) || !strings.Contains(log, server.URL) {
		t.Errorf("it logs %s", log)
	}
	if text := exported(exporter); !strings.Contains(text, `audit_sweep_complete{cluster="prod"} 1`) {
		t.Errorf("the exporter shows %s", text)
	}
}

func TestSweepThatIsCanceledHasNoMetrics(t *testing.T) {
	url, requests := counting(t)
	g, err := metrics.NewPusher(metrics.Options{URL: url}, "prod", metrics.LabelValues{})
	if err != nil {
		t.Fatal(err)
	}
	m := &Meter{Pusher: g, Now: time.Now}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.End(canceled, m.Begin(), nil, nil, context.Canceled); err != nil || requests.Load() != 0 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
	// A sweep that took too long has metrics.
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if err := m.End(late, m.Begin(), nil, nil, errors.New("too late")); err != nil || requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
}

func exported(b *metrics.Exporter) string {
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// fakeClient is a client that has used the API server.
type fakeClient struct{ used kube.Usage }

func (c *fakeClient) Usage() kube.Usage { return c.used }

func TestMeterCountsWhatOneSweepUsed(t *testing.T) {
	c := &fakeClient{kube.Usage{Requests: 100, Retries: 10, Bytes: 1000}}
	m := &Meter{Exporter: metrics.NewExporter("prod", metrics.LabelValues{}), Now: time.Now, Clients: []Client{{"source", c}}}
	began := m.Begin()
	c.used = kube.Usage{Requests: 107, Retries: 11, Bytes: 1500}
	if err := m.End(t.Context(), began, &audit.Result{}, &audit.Published{}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`audit_api_requests{client="source",cluster="prod"} 7`, `audit_api_retries{client="source",cluster="prod"} 1`,
		`audit_api_response_bytes{client="source",cluster="prod"} 500`,
	} {
		if text := exported(m.Exporter); !strings.Contains(text, want+"\n") {
			t.Errorf("it does not show %s", want)
		}
	}
}
