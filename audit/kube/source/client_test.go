package source_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// recorder records the requests.
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

// paths returns the requested paths, sorted.
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

func TestServerIsUnreachable(t *testing.T) {
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

func TestUntrustedCertificateIsNotRetried(t *testing.T) {
	tries := 0
	source := newSource(t, &rest.Config{Host: serveTLS(t, newFakeAPI())}, source.Options{Sleep: func(context.Context, time.Duration) { tries++ }})
	s := read(t, source, namespaces)
	if r := s.Reads()[0]; r.Status != snapshot.Failed || !strings.Contains(r.Err, "certificate") || tries > 0 {
		t.Errorf("read %v after %d waits, want a failure at once", r, tries)
	}
}

// tally counts what a server is asked and answers.
type tally struct {
	next            http.Handler
	requests, bytes atomic.Int64
}

func (s *tally) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	s.next.ServeHTTP(tallied{w, s}, r)
}

type tallied struct {
	http.ResponseWriter
	tally *tally
}

func (w tallied) Write(p []byte) (int, error) {
	w.tally.bytes.Add(int64(len(p)))
	return w.ResponseWriter.Write(p)
}

func TestUsageIsWhatTheServerSaw(t *testing.T) {
	for _, tt := range []struct {
		name    string
		decide  kubetest.Decide
		retries int64
	}{
		{"three pages are not retries", kubetest.First(0, anything, nil), 0},
		{"a list that starts again is not a retry", kubetest.First(1, laterPage, kubetest.Expire()), 0},
		{"client-go's own tries count", kubetest.First(3, laterPage, kubetest.TooManyRequests(0)), 3},
		{"tries beyond those count", kubetest.First(15, laterPage, kubetest.TooManyRequests(0)), 15},
		{"a failure of the server is tried again", kubetest.First(2, firstPage, kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd")), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := &tally{next: kubetest.Disturb(newFakeAPI(), tt.decide)}
			source := newSource(t, serve(t, server), source.Options{})
			read(t, source, ingresses)
			want := kube.Usage{Requests: server.requests.Load(), Retries: tt.retries, Bytes: server.bytes.Load()}
			if diff := cmp.Diff(want, source.Usage()); diff != "" {
				t.Errorf("usage (-what the server saw +got):\n%s", diff)
			}
			before := source.Usage()
			read(t, source, ingresses)
			if more := source.Usage().Minus(before); more.Requests != 3 || more.Retries != 0 || more.Bytes <= 0 {
				t.Errorf("a second, quiet reading used %+v, want three requests", more)
			}
		})
	}
}

func TestDiscoveryIsNotARetry(t *testing.T) {
	source := newSource(t, serve(t, newFakeAPI()), source.Options{})
	read(t, source, routes)
	if u := source.Usage(); u.Requests < 4 || u.Retries != 0 {
		t.Errorf("usage is %+v, want the discovery, three pages and no retries", u)
	}
}

// discoveryOnly matches the discovery request.
func discoveryOnly(r *http.Request) bool { return r.URL.Path == discoveryPath }

// gatewayKinds are custom kinds; the fake API server has one of them.
var gatewayKinds = []snapshot.Kind{snapshot.GRPCRoutes, snapshot.Gateways, snapshot.HTTPRoutes, snapshot.XListenerSets}

func TestDiscoveryIsRequestedOnce(t *testing.T) {
	var seen recorder
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), seen.decide)), source.Options{PageSize: 100})
	s := read(t, source, append(slices.Clone(gatewayKinds), snapshot.Ingresses, snapshot.Namespaces))
	want := []string{namespacesPath, discoveryPath, routesPath, ingressesPath}
	if diff := cmp.Diff(want, seen.paths()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	for _, r := range s.Reads() {
		want := snapshot.Listed
		if slices.Contains(gatewayKinds, r.Kind) && r.Kind != snapshot.HTTPRoutes {
			want = snapshot.Absent
		}
		if r.Status != want || r.Version == "" {
			t.Errorf("%s %s is %s (%s), want %s", r.Kind, r.Version, r.Status, r.Err, want)
		}
	}
}

func TestDiscoveryIsNotRequestedWithoutCustomKinds(t *testing.T) {
	var seen recorder
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), seen.decide)), source.Options{PageSize: 100})
	read(t, source, []snapshot.Kind{snapshot.Ingresses, snapshot.Namespaces, snapshot.Pods})
	want := []string{namespacesPath, podsPath, ingressesPath}
	if diff := cmp.Diff(want, seen.paths()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestDiscoveryIsRetriedAfterAFault(t *testing.T) {
	for name, answer := range map[string]kubetest.Answer{
		"a server that is busy": kubetest.TooManyRequests(-1),
		"a truncated response":  kubetest.Cut(30),
		"a corrupted response":  ok(`{"kind":"APIGroupDiscoveryList","items":[`),
		"a bad gateway":         kubetest.Text(502, "<html>"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decide := kubetest.First(1, discoveryOnly, answer)
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
			checkRead(t, read(t, source, routes), snapshot.HTTPRoutes)
		})
	}
}

// Without discovery all custom kinds are unknown, and no others.
func TestCustomKindsAreUnknownWithoutDiscovery(t *testing.T) {
	const groupList = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"gateway.networking.k8s.io"}]}`
	for name, tt := range map[string]struct {
		answer kubetest.Answer
		status snapshot.Status
		reason string
	}{
		"of a server that is too old": {
			ok(groupList), snapshot.Failed,
			"the server only says group by group what it serves: it is older than Kubernetes 1.27, or its aggregated discovery is off",
		},
		"that the account may not request": {
			kubetest.Fail(403, metav1.StatusReasonForbidden, `forbidden: User "guest" cannot get path "/apis"`),
			snapshot.Forbidden, `forbidden: User "guest" cannot get path "/apis"`,
		},
		"of a server that is not an API server": {
			kubetest.Text(404, "not here"), snapshot.Failed,
			"the server does not say what it serves: is it a Kubernetes API server?",
		},
		"of a server that serves nothing": {
			ok(`{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`), snapshot.Failed,
			"the server says that it serves nothing at all: is it a Kubernetes API server?",
		},
		"that a gateway forbids": {kubetest.Text(403, "no entry"), snapshot.Forbidden, "no entry"},
		"of a server that fails permanently": {
			kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd"), snapshot.Failed, "HTTP 500: etcd",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decide := kubetest.First(always, discoveryOnly, tt.answer)
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
			s := read(t, source, append(slices.Clone(gatewayKinds), snapshot.Ingresses))
			for _, r := range s.Reads() {
				want := snapshot.Read{Kind: r.Kind, Status: tt.status, Err: tt.reason}
				if r.Kind == snapshot.Ingresses {
					want = snapshot.Read{Kind: r.Kind, Version: "v1", Status: snapshot.Listed, Items: 5}
				}
				if diff := cmp.Diff(want, r); diff != "" {
					t.Errorf("read (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Before Kubernetes 1.30 there is aggregated discovery in an older form only. A
// server takes the first form of those asked for that it knows.
func TestDiscoveryInItsOlderForm(t *testing.T) {
	old := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !strings.Contains(r.Header.Get("Accept"), "g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList") {
			_ = json.NewEncoder(w).Encode(map[string]string{"kind": "APIGroupList"})
			return
		}
		next.ServeHTTP(w, r)
	}
	decide := kubetest.First(always, discoveryOnly, old)
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
	checkRead(t, read(t, source, routes), snapshot.HTTPRoutes)
}
