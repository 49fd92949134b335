package faults

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/e2e/memapi"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// home is the namespace of the findings, and the name of the Lease.
const home = "audit"

// cluster is an API server.
type cluster interface {
	config() *rest.Config
	// disturbed returns a config whose requests are disturbed.
	disturbed(t *testing.T, decide kubetest.Decide) *rest.Config
	removeFindings(t *testing.T)
	freeLease(ctx context.Context) (holder string, err error)
	// drop makes the API server drop fields; it returns false if it can't.
	drop(paths []string) bool
}

// realCluster is one of its own processes.
type realCluster struct{ *kubetest.Cluster }

func (c realCluster) config() *rest.Config { return c.Config(kubetest.Admin) }

func (c realCluster) disturbed(t *testing.T, decide kubetest.Decide) *rest.Config {
	return c.StartProxy(t, decide).Config(kubetest.Admin)
}

func (c realCluster) removeFindings(t *testing.T) {
	t.Helper()
	client, err := dynamic.NewForConfig(c.config())
	if err != nil {
		t.Fatal(err)
	}
	findings := client.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.Resource)).Namespace(home)
	if err := findings.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c realCluster) freeLease(ctx context.Context) (string, error) {
	return c.FreeLease(ctx, home, home)
}

func (realCluster) drop(paths []string) bool { return len(paths) == 0 }

// memoryCluster is in memory: a run takes a tenth of the time.
type memoryCluster struct {
	api *memapi.Server
	url string
}

func newMemoryCluster(t *testing.T) *memoryCluster {
	c := &memoryCluster{api: &memapi.Server{}}
	c.url = serve(t, c.api)
	return c
}

// serve serves until the end of the test, and returns the URL.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	// Aborted connections are intended. Close waits for no request that hangs.
	server := &http.Server{Handler: handler, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

func (c *memoryCluster) config() *rest.Config { return &rest.Config{Host: c.url} }

func (c *memoryCluster) disturbed(t *testing.T, decide kubetest.Decide) *rest.Config {
	return &rest.Config{Host: serve(t, kubetest.Disturb(c.api, decide))}
}

func (c *memoryCluster) removeFindings(*testing.T) { c.api.Remove(v1alpha1.Resource) }

func (c *memoryCluster) freeLease(ctx context.Context) (string, error) {
	client, err := kubernetes.NewForConfig(c.config())
	if err != nil {
		return "", err
	}
	leases := client.CoordinationV1().Leases(home)
	l, err := leases.Get(ctx, home, metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity == "" {
		return "", err
	}
	holder, nobody := *l.Spec.HolderIdentity, ""
	l.ResourceVersion, l.Spec.HolderIdentity = "", &nobody
	_, err = leases.Update(ctx, l, metav1.UpdateOptions{})
	return holder, err
}

func (c *memoryCluster) drop(paths []string) bool {
	c.api.Drop(paths...)
	return true
}

// lab is the cluster that several runs use, one after the other.
type lab struct {
	cluster cluster
	client  kubernetes.Interface
	store   *store.Store // bypasses the faults
	source  *source.Source
	now     world
	truth   truth // of the current world, nil if not yet observed
}

// newRealLab returns a lab in a real cluster.
func newRealLab(t *testing.T) *lab {
	t.Helper()
	c := control.Cluster(t)
	if err := c.InstallCRDs(t.Context(), filepath.Join("..", "..", "audit", "api", "v1alpha1")); err != nil {
		t.Fatal(err)
	}
	l := newLab(t, realCluster{c})
	// The API server delays creations of a new kind for this long.
	time.Sleep(2100 * time.Millisecond)
	return l
}

func newLab(t *testing.T, c cluster) *lab {
	t.Helper()
	l := &lab{cluster: c}
	var err error
	if l.client, err = kubernetes.NewForConfig(c.config()); err != nil {
		t.Fatal(err)
	}
	if l.store, err = store.New(c.config(), home, store.Options{}); err != nil {
		t.Fatal(err)
	}
	l.source = l.newSource(t, c.config())
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
	if _, err := l.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: home}}
	if _, err := l.client.CoordinationV1().Leases(home).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	createNamespaces(t, l.client)
	return l
}

// clear deletes all findings and frees the lease.
func (l *lab) clear(t *testing.T) {
	t.Helper()
	l.cluster.removeFindings(t)
	l.freeLease(t)
}

// freeLease clears the Lease, as if it had expired, and returns its former holder.
func (l *lab) freeLease(t *testing.T) string {
	t.Helper()
	holder, err := l.cluster.freeLease(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return holder
}

// stored returns the stored findings by ID.
func (l *lab) stored(t *testing.T) map[string]audit.Stored {
	t.Helper()
	records, newer, err := l.store.Load(t.Context())
	if err != nil || len(newer) > 0 {
		t.Fatalf("load findings: %v, of a newer version %q", err, newer)
	}
	out := map[string]audit.Stored{}
	for _, s := range records {
		out[s.ID] = s
	}
	return out
}

func (l *lab) setWorld(t *testing.T, w world) {
	t.Helper()
	if l.now != w {
		applyWorld(t, l.client, l.now, w)
		l.now, l.truth = w, nil
	}
}

// clock is a clock that advances when a client sleeps or a test says so.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Sleep advances the clock, for slack.Clock.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.pass(d)
	return ctx.Err()
}

// noSleep does not wait between retries.
func noSleep(context.Context, time.Duration) {}

// mayStale reports whether a list may be stale: those of findings, and all lists of the
// sweep. The confirmation, whose lists are narrowed to namespaces or made under the
// lease, is not, because it is the defense against stale lists.
func mayStale(publishing func() bool) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/findings") {
			return r.Method == http.MethodGet
		}
		return r.Method == http.MethodGet && r.URL.Query().Get("limit") != "" && r.URL.Query().Get("fieldSelector") == "" && !publishing()
	}
}

// truth is the findings of an undisturbed sweep, by ID.
type truth map[string]audit.Finding

// observe returns the truth of the current world.
func (s *stage) observe(t *testing.T) truth {
	t.Helper()
	if s.truth != nil {
		return s.truth
	}
	res, err := audit.Sweep(t.Context(), s.source, catalog.All(), settings(), s.clock.Now, nil)
	if err != nil || !res.Complete() {
		// Not Fatal: the world may change in another goroutine than the test's.
		t.Errorf("observe the world: %v", err)
		return truth{}
	}
	s.truth = truth{}
	for _, f := range res.Findings {
		s.truth[f.ID] = store.FitFinding(f)
	}
	return s.truth
}

// misled reports whether the sweep got stale lists, or a "not found" for a finding that
// exists.
func (s *stage) misled() bool {
	prefix := fmt.Sprintf("%d ", s.act)
	for step, fault := range s.script.Applied() {
		gone := fault == kubetest.Fault{Kind: kubetest.Refused, N: http.StatusNotFound} && strings.Contains(step, "/findings/")
		if strings.HasPrefix(step, prefix) && (fault.Kind == kubetest.Stale || fault.Kind == kubetest.Repeated || gone) {
			return true
		}
	}
	return false
}
