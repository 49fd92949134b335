package source_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// recorder keeps the requests that pass.
type recorder struct {
	mu       sync.Mutex
	requests []*http.Request
}

func (r *recorder) decide(req *http.Request) kubetest.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, req)
	return nil
}

// paths returns the paths that were asked for, sorted.
func (r *recorder) paths() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var paths []string
	for _, req := range r.requests {
		paths = append(paths, req.URL.Path)
	}
	slices.Sort(paths)
	return paths
}

func TestRequestsAreLivePages(t *testing.T) {
	var seen recorder
	cfg := serve(t, kubetest.Disturb(newFakeAPI(), seen.decide))
	cfg.ContentType = "application/json"
	source := newSource(t, cfg, source.Options{UserAgent: "audit/v1"})
	read(t, source, ingresses)

	var urls []string
	for _, r := range seen.requests {
		urls = append(urls, r.Method+" "+r.URL.String())
		if r.UserAgent() != "audit/v1" {
			t.Errorf("user agent %q", r.UserAgent())
		}
		if accept := r.Header.Get("Accept"); !strings.HasPrefix(accept, "application/vnd.kubernetes.protobuf,") {
			t.Errorf("accepts %q, want protobuf first", accept)
		}
	}
	want := []string{
		"GET " + ingressesPath + "?limit=2",
		"GET " + ingressesPath + "?continue=2&limit=2",
		"GET " + ingressesPath + "?continue=4&limit=2",
	}
	if diff := cmp.Diff(want, urls); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if cfg.UserAgent != "" || cfg.QPS != 0 {
		t.Errorf("the caller's config was changed: %v", cfg)
	}
}

func TestPagesHoldFiveHundredByDefault(t *testing.T) {
	var seen recorder
	source, err := source.New(serve(t, kubetest.Disturb(newFakeAPI(), seen.decide)), source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	read(t, source, ingresses)
	if len(seen.requests) != 1 || seen.requests[0].URL.RawQuery != "limit=500" {
		t.Errorf("requests %v", seen.requests)
	}
}

func TestKindsAreReadAFewAtATime(t *testing.T) {
	var mu sync.Mutex
	var now, most int
	count := func(*http.Request) kubetest.Answer {
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(10 * time.Millisecond)
			next.ServeHTTP(w, r)
			mu.Lock()
			now--
			mu.Unlock()
		}
	}
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), count)), source.Options{Parallel: 2})
	kinds := append(snapshot.WorkloadKinds(), snapshot.Namespaces, snapshot.Pods, snapshot.Ingresses)
	read(t, source, kinds)
	if most != 2 {
		t.Errorf("%d requests at once, want 2", most)
	}
}

func TestWaitsGrowBetweenTries(t *testing.T) {
	var waits []time.Duration
	record := func(_ context.Context, d time.Duration) { waits = append(waits, d) }
	busy := kubetest.First(always, firstPage, kubetest.Text(503, "away"))
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), busy)), source.Options{Sleep: record})
	if s := read(t, source, ingresses); s.Status(snapshot.Ingresses) != snapshot.Failed {
		t.Errorf("reads %v, want failed", s.Reads())
	}
	want := []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestServerThatIsNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	cfg := &rest.Config{Host: "http://" + l.Addr().String()}
	s := read(t, newSource(t, cfg, source.Options{}), namespaces)
	want := []snapshot.Read{{
		Kind: snapshot.Namespaces, Version: "v1", Status: snapshot.Failed,
		Err: "dial tcp " + l.Addr().String() + ": connect: connection refused",
	}}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestCertificateThatNobodySignedIsNotTriedAgain(t *testing.T) {
	tries := 0
	source := newSource(t, &rest.Config{Host: serveTLS(t, newFakeAPI())}, source.Options{Sleep: func(context.Context, time.Duration) { tries++ }})
	s := read(t, source, namespaces)
	if r := s.Reads()[0]; r.Status != snapshot.Failed || !strings.Contains(r.Err, "certificate") || tries > 0 {
		t.Errorf("read %v after %d waits, want a failure at once", r, tries)
	}
}
