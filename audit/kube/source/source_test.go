package source_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const always = 1 << 30

var (
	firstPage = kubetest.Page("ingresses", false)
	laterPage = kubetest.Page("ingresses", true)
)

func anything(*http.Request) bool { return true }

func ok(body string) kubetest.Answer {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body))
	}
}

// survivable are ways in which a list of five objects can be disturbed, and still be
// read to its end.
func survivable(resource string) map[string]kubetest.Decide {
	first, later := kubetest.Page(resource, false), kubetest.Page(resource, true)
	return map[string]kubetest.Decide{
		"page by page": kubetest.First(0, anything, nil),
		"again from the start where a page expires":         kubetest.First(1, later, kubetest.Expire()),
		"even where three lists expire":                     kubetest.First(3, later, kubetest.Expire()),
		"even where the first page is gone once":            kubetest.First(1, first, kubetest.Expire()),
		"even where a gateway responds with 410 of its own": kubetest.First(1, later, kubetest.Text(410, "gone")),
		"after a 429 that says when":                        kubetest.First(3, later, kubetest.TooManyRequests(0)),
		"after more of them than client-go retries":         kubetest.First(15, later, kubetest.TooManyRequests(0)),
		"after a 429 that does not say when":                kubetest.First(3, later, kubetest.TooManyRequests(-1)),
		"after an error of the server":                      kubetest.First(1, later, kubetest.Fail(500, metav1.StatusReasonInternalError, "etcd")),
		"after a bad gateway":                               kubetest.First(4, first, kubetest.Text(502, "<html>")),
		"after a response that was truncated":               kubetest.First(1, later, kubetest.Cut(30)),
		"after four truncated responses":                    kubetest.First(4, first, kubetest.Cut(30)),
		"after the response of another page":                kubetest.First(1, later, ok(`{"kind":"PodList","apiVersion":"v1"}`)),
		"after the login page of a gateway":                 kubetest.First(1, first, kubetest.Text(200, "<html>log in</html>")),
		"after a response that is an empty object":          kubetest.First(1, first, ok(`{}`)),
		"after a response that is corrupted on its way":     kubetest.First(1, later, ok(`{"metadata":{"resourceVersion":"7"},"items":[{"meta`)),
	}
}

func TestIngressesAreRead(t *testing.T) {
	for name, decide := range survivable("ingresses") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), decide)), source.Options{})
			s := read(t, source, ingresses)
			checkRead(t, s, snapshot.Ingresses)
			if diff := cmp.Diff([]string{"i1", "i2", "i3", "i4", "i5"}, ingressNames(s)); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

// checkRead checks that exactly the five objects of a kind were read.
func checkRead(t *testing.T, s *snapshot.Snapshot, kind snapshot.Kind) {
	t.Helper()
	want := []snapshot.Read{{Kind: kind, Version: "v1", Status: snapshot.Listed, Items: 5}}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestExpiredListThrowsAwayWhatWasRead(t *testing.T) {
	api := newFakeAPI()
	expire := kubetest.First(1, laterPage, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		api.remove(ingressesPath)
		kubetest.Expire()(w, r, next)
	})
	source := newSource(t, serve(t, kubetest.Disturb(api, expire)), source.Options{})
	if diff := cmp.Diff([]string{"i2", "i3", "i4", "i5"}, ingressNames(read(t, source, ingresses))); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestKindThatIsNotServedIsAbsent(t *testing.T) {
	source := newSource(t, serve(t, newFakeAPI()), source.Options{})
	s := read(t, source, []snapshot.Kind{snapshot.NetworkPolicies, snapshot.Deployments, snapshot.Ingresses})
	want := []snapshot.Read{
		{Kind: snapshot.Deployments, Version: "v1", Status: snapshot.Absent},
		{Kind: snapshot.Ingresses, Version: "v1", Status: snapshot.Listed, Items: 5},
		{Kind: snapshot.NetworkPolicies, Version: "v1", Status: snapshot.Absent},
	}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestNamespacesKeepTheAnnotationOfTheirChannel(t *testing.T) {
	list := ok(`{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
		{"metadata":{"name":"a","annotations":{"example.com/channel":"team-a","note":"x"}}}]}`)
	source := newSource(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { list(w, r, nil) })),
		source.Options{ChannelAnnotation: "example.com/channel"})
	s := read(t, source, []snapshot.Kind{snapshot.Namespaces})
	if ns := s.Namespace("a"); ns == nil || ns.Channel != "team-a" {
		t.Errorf("read as %+v, want channel team-a", ns)
	}
	var fresh snapshot.Builder
	part := snapshot.Part{Kind: snapshot.Namespaces, Namespace: "a"}
	if _, _, err := source.Reread(t.Context(), []snapshot.Part{part}, s.Version, &fresh); err != nil {
		t.Fatal(err)
	}
	if ns := fresh.Freeze().Namespace("a"); ns == nil || ns.Channel != "team-a" {
		t.Errorf("read again as %+v, want channel team-a", ns)
	}
}

func TestServerWithoutNamespacesIsNotACluster(t *testing.T) {
	source := newSource(t, serve(t, http.NotFoundHandler()), source.Options{})
	kinds := []snapshot.Kind{snapshot.Namespaces, snapshot.Pods, snapshot.Ingresses}
	for _, r := range read(t, source, kinds).Reads() {
		if r.Status != snapshot.Failed || !strings.Contains(r.Err, "is it") {
			t.Errorf("%s is %s (%s), want failed", r.Kind, r.Status, r.Err)
		}
	}
}

func TestPodsThatAreNotServedAreUnknown(t *testing.T) {
	api := newFakeAPI()
	delete(api.names, podsPath)
	s := read(t, newSource(t, serve(t, api), source.Options{}), []snapshot.Kind{snapshot.Pods})
	if got := s.Status(snapshot.Pods); got != snapshot.Failed {
		t.Errorf("pods are %s, want failed", got)
	}
}

func TestKindWithoutReaderFails(t *testing.T) {
	source := newSource(t, serve(t, newFakeAPI()), source.Options{})
	s := read(t, source, []snapshot.Kind{"unicorns.example.com"})
	want := []snapshot.Read{{
		Kind: "unicorns.example.com", Status: snapshot.Failed, Err: "this kind cannot be read from an API server",
	}}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

func TestDeadlineLeavesUnfinishedKindsFailed(t *testing.T) {
	hang := kubetest.First(always, laterPage, kubetest.Hang())
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), hang)), source.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var b snapshot.Builder
	if _, err := source.Read(ctx, []snapshot.Kind{snapshot.Namespaces, snapshot.Ingresses}, &b); err != nil {
		t.Fatal(err)
	}
	s := b.Freeze()
	want := []snapshot.Read{
		{Kind: snapshot.Namespaces, Version: "v1", Status: snapshot.Listed, Items: 3},
		{Kind: snapshot.Ingresses, Version: "v1", Status: snapshot.Failed, Err: "timed out before the list was complete"},
	}
	if diff := cmp.Diff(want, s.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if names := ingressNames(s); len(names) > 0 {
		t.Errorf("a part of the list came through: %v", names)
	}
}

func TestDeadlineCountsForKindsNotBegun(t *testing.T) {
	hang := kubetest.First(always, anything, kubetest.Hang())
	source := newSource(t, serve(t, kubetest.Disturb(newFakeAPI(), hang)), source.Options{Parallel: 1})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	var b snapshot.Builder
	if _, err := source.Read(ctx, snapshot.WorkloadKinds(), &b); err != nil {
		t.Fatal(err)
	}
	reads := b.Freeze().Reads()
	for _, r := range reads {
		if r.Status != snapshot.Failed || r.Err != "timed out before the list was complete" {
			t.Errorf("read %v, want failed", r)
		}
	}
	if len(reads) != len(snapshot.WorkloadKinds()) {
		t.Errorf("%d reads", len(reads))
	}
}

// A cancellation ends the sweep, whatever the source is waiting for.
func TestCancellationIsAnErrorAtOnce(t *testing.T) {
	tests := map[string]kubetest.Answer{
		"during a request":                              kubetest.Hang(),
		"while it waits between two tries":              kubetest.Text(503, "away"),
		"while client-go waits as the server requested": kubetest.TooManyRequests(30),
	}
	for name, answer := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reached := make(chan struct{}, 1)
			disturb := kubetest.First(always, anything, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				select {
				case reached <- struct{}{}:
				default:
				}
				answer(w, r, next)
			})
			wait := func(ctx context.Context, _ time.Duration) { <-ctx.Done() }
			cfg := serve(t, kubetest.Disturb(newFakeAPI(), disturb))
			readInterrupted(t, newSource(t, cfg, source.Options{Sleep: wait}), reached)
		})
	}
}

// deaf is a connection that does not notice the end of a context, such as one
// that waits for a credential plugin.
type deaf struct{ reached, release chan struct{} }

func (d deaf) RoundTrip(*http.Request) (*http.Response, error) {
	d.reached <- struct{}{}
	<-d.release
	return nil, errors.New("released")
}

func TestCancellationDoesNotWaitForTheDeaf(t *testing.T) {
	d := deaf{reached: make(chan struct{}, 1), release: make(chan struct{})}
	t.Cleanup(func() { close(d.release) })
	cfg := serve(t, newFakeAPI())
	cfg.WrapTransport = func(http.RoundTripper) http.RoundTripper { return d }
	readInterrupted(t, newSource(t, cfg, source.Options{}), d.reached)
}

// readInterrupted cancels a read a moment after it has reached the server.
func readInterrupted(t *testing.T, source *source.Source, reached <-chan struct{}) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancelled := make(chan time.Time, 1)
	go func() {
		<-reached
		time.Sleep(20 * time.Millisecond)
		cancelled <- time.Now()
		cancel(interrupted)
	}()
	var b snapshot.Builder
	if _, err := source.Read(ctx, ingresses, &b); !errors.Is(err, interrupted) {
		t.Errorf("error %v, want the cause of the cancellation", err)
	}
	if took := time.Since(<-cancelled); took > time.Second {
		t.Errorf("returned %v after the cancellation", took)
	}
}

// everything is an API server that serves and records every request.
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

// paths returns the requested paths, sorted.
func (e *everything) paths() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.asked))
}

// TestSecretsAreNeverRead reads, and reads again in parts, all that any rule can need,
// from an API server that serves all of it, Secrets, and unsupported policies: nothing
// that is called a Secret is requested, and no ConfigMaps except
// Cilium's own.
func TestSecretsAreNeverRead(t *testing.T) {
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

// No options make a source read Secrets, whatever the config accepted.
func TestSecretsCannotBeAHostSource(t *testing.T) {
	server := &everything{asked: map[string]bool{}}
	cfg := serve(t, server)
	_, err := source.New(cfg, source.Options{HostSources: []hostsource.Source{
		ownSource(t, servicesKind, "Service"), ownSource(t, snapshot.KindOf("", "secrets"), "Secret"),
	}})
	if err == nil || err.Error() != "a host source cannot read Secrets" || len(server.paths()) > 0 {
		t.Errorf("the error is %v, and the server was asked for %v", err, server.paths())
	}
}
