package serve

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/metrics"
)

func TestHealth(t *testing.T) {
	const fine = "ok"
	for _, tt := range []struct {
		name         string
		do           func(*health)
		later        time.Duration
		alive, ready string
	}{
		{"at the beginning", func(*health) {}, time.Hour, fine, "not started yet"},
		{"requesting the lease", (*health).starting, time.Hour, fine, "not started yet"},
		{"requests for the lease fail", (*health).blocked, time.Hour, fine, "cannot request the lease, see the log"},
		{"standing by", (*health).standingBy, time.Hour, fine, fine},
		{"standing by without a server", func(h *health) {
			h.standingBy()
			h.unreachable = func() error { return errors.New("the API server is unreachable") }
		}, time.Hour, fine, "standing by, but the API server is unreachable"},
		{"in the first sweep", (*health).sweeping, 3 * time.Minute, fine, "the first sweep has not finished yet"},
		{"in a sweep for more than three intervals", (*health).sweeping, 3*time.Minute + time.Second, "a sweep has been running for 3m1s", "the first sweep has not finished yet"},
		{"after an incomplete sweep", func(h *health) {
			h.sweeping()
			h.swept(false)
			h.pausing(time.Minute)
		}, 4 * time.Minute, fine, "no sweep without a failure yet, see the log"},
		{"after a complete sweep", func(h *health) {
			h.sweeping()
			h.swept(true)
			h.pausing(time.Minute)
		}, 4 * time.Minute, fine, fine},
		{"when a sweep is overdue", func(h *health) {
			h.swept(true)
			h.pausing(time.Minute)
		}, 4*time.Minute + 2*time.Second, "a sweep has been overdue for 3m2s", fine},
		{"after an incomplete sweep that followed a complete one", func(h *health) {
			h.swept(true)
			h.swept(false)
			h.pausing(time.Minute)
		}, 0, fine, fine},
		{"leading again", func(h *health) {
			h.swept(true)
			h.starting()
			h.sweeping()
		}, 0, fine, "the first sweep has not finished yet"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &fakeClock{now: today}
			h := b.health()
			tt.do(h)
			b.now = b.now.Add(tt.later)
			for path, want := range map[string]string{"/healthz": tt.alive, "/readyz": tt.ready} {
				code := map[string]int{"/healthz": 500, "/readyz": 503}[path]
				if want == fine {
					code = 200
				}
				w := httptest.NewRecorder()
				handler(h, nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
				if w.Code != code || w.Body.String() != want+"\n" {
					t.Errorf("%s: %d %q, want %d %q", path, w.Code, w.Body, code, want)
				}
			}
		})
	}
}

func TestNothingElseIsServed(t *testing.T) {
	h := handler((&fakeClock{now: today}).health(), nil)
	for _, path := range []string{"/", "/metrics", "/healthz/", "/healthz/x", "/debug/pprof/"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/healthz", strings.NewReader("x")))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestMetricsAreServed(t *testing.T) {
	h := handler((&fakeClock{now: today}).health(), metrics.NewExporter("prod", metrics.LabelValues{}).Handler())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `audit_build_info{cluster="prod"`) {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/metrics", strings.NewReader("x")))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestServerListensAndCloses(t *testing.T) {
	var out bytes.Buffer
	h := (&fakeClock{now: today}).health()
	s, err := startServer(t.Context(), "127.0.0.1:0", handler(h, nil), untimed(&out))
	if err != nil {
		t.Fatal(err)
	}
	if s.server.ReadHeaderTimeout == 0 || s.server.ReadTimeout == 0 || s.server.WriteTimeout == 0 || s.server.IdleTimeout == 0 {
		t.Error("a timeout is not set")
	}
	url := "http://" + strings.TrimSpace(out.String()[strings.Index(out.String(), "address=")+len("address="):]) + "/healthz"
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil || string(body) != "ok\n" {
		t.Errorf("%q, %v", body, err)
	}
	if _, err := startServer(t.Context(), strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/healthz"), handler(h, nil), untimed(&out)); err == nil {
		t.Error("two listen on one address")
	}
	s.close()
	if answer, err := http.Get(url); err == nil {
		answer.Body.Close()
		t.Error("it still answers")
	}
	off, err := startServer(t.Context(), "", handler(h, nil), untimed(&out))
	if err != nil {
		t.Fatal(err)
	}
	off.close()
}
