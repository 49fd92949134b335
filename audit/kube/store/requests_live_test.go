package store_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// counter counts requests.
type counter struct {
	mu   sync.Mutex
	n    int
	next http.RoundTripper
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	return c.next.RoundTrip(r)
}

// since returns the number of requests since it was last called.
func (c *counter) since() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

func counting(cfg *rest.Config) (*rest.Config, *counter) {
	c := &counter{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		c.next = next
		return c
	})
	return cfg, c
}

func TestLiveStoreMakesFewRequests(t *testing.T) {
	cluster := findingsCluster(t)
	cfg, requests := counting(cluster.Config(kubetest.Admin))
	findings := newStore(t, cfg, store.Options{})
	st := must(findings.Create(t.Context(), aRecord("a.example.com")))(t)
	want := func(what string, n int) {
		t.Helper()
		if got := requests.since(); got != n {
			t.Errorf("%s takes %d requests, not %d", what, got, n)
		}
	}
	want("a creation", 2)
	st.Message = "another"
	st = must(findings.Update(t.Context(), st))(t)
	want("an update that leaves the labels", 1)
	st.State, st.ResolvedAt = audit.StateResolved, monday
	st = must(findings.Update(t.Context(), st))(t)
	want("an update that changes labels", 3)
	st = must(findings.Get(t.Context(), st.ID))(t)
	want("a look at one", 1)
	version := st.Version
	st = must(findings.Update(t.Context(), st))(t)
	want("an update that changes nothing", 1)
	if st.Version != version {
		t.Error("an update that changes nothing is stored")
	}
	if err := findings.Delete(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	want("a deletion", 1)
}

func TestLiveManyFindingsComeInPages(t *testing.T) {
	cluster := findingsCluster(t)
	cfg, requests := counting(cluster.Config(kubetest.Admin))
	findings := newStore(t, cfg, store.Options{})
	const many = 1200
	began := time.Now()
	slots := make(chan struct{}, 16)
	var wait sync.WaitGroup
	for i := range many {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if _, err := findings.Create(t.Context(), aRecord(fmt.Sprintf("%d.example.com", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	t.Logf("created in %s with %d requests", time.Since(began), requests.since())
	began = time.Now()
	records, newer, err := findings.Load(t.Context())
	if err != nil || len(records) != many || len(newer) != 0 {
		t.Fatalf("load: %d records, %v, %v", len(records), newer, err)
	}
	// 1000 at first, and then as many as make a few MiB.
	if n := requests.since(); n != 2 {
		t.Errorf("they come in %d pages, not 2", n)
	}
	t.Logf("loaded in %s", time.Since(began))
	for i := 1; i < many; i++ {
		if records[i-1].ID >= records[i].ID {
			t.Fatalf("%s comes before %s", records[i-1].ID, records[i].ID)
		}
	}
}

// right is one right of an account in its own namespace.
type right struct{ group, resource, verb string }

// publisherRights are all rights that the store and the lease need.
var publisherRights = []right{
	{v1alpha1.Group, "findings", "get"},
	{v1alpha1.Group, "findings", "list"},
	{v1alpha1.Group, "findings", "create"},
	{v1alpha1.Group, "findings", "update"},
	{v1alpha1.Group, "findings", "delete"},
	{v1alpha1.Group, "findings/status", "update"},
	{"coordination.k8s.io", "leases", "get"},
	{"coordination.k8s.io", "leases", "create"},
	{"coordination.k8s.io", "leases", "update"},
}

func TestLivePublisherHasTheRightsItNeedsAndNoMore(t *testing.T) {
	c := findingsCluster(t)
	// One account with all rights, and for each right one account without it.
	accounts := map[string][]right{"all": publisherRights}
	for i, missing := range publisherRights {
		accounts[missing.verb+"."+strings.ReplaceAll(missing.resource, "/", ".")] = slices.Delete(slices.Clone(publisherRights), i, i+1)
	}
	for name, rights := range accounts {
		grant(t, c, name, rights)
	}
	for name := range accounts {
		cfg := c.Config(kubetest.Admin)
		cfg.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
		err := useAll(t, cfg, "audit-"+name)
		switch {
		case name == "all" && err != nil:
			t.Errorf("with all rights: %v", err)
		case name != "all" && !apierrors.IsForbidden(err):
			t.Errorf("%s is not needed: %v", name, err)
		}
	}
}

// useAll does everything that a publisher does.
func useAll(t *testing.T, cfg *rest.Config, name string) error {
	lease, err := lease.New(cfg, home, name, lease.Options{})
	if err != nil {
		t.Fatal(err)
	}
	held, err := lease.Acquire(t.Context(), 20*time.Second)
	if err != nil {
		return err
	}
	findings := newStore(t, cfg, store.Options{})
	err = useStore(held.Context(), findings, aRecord(name+".example.com"))
	if closeErr := held.Close(); err == nil {
		err = closeErr
	}
	return err
}

func useStore(ctx context.Context, findings *store.Store, r audit.Record) error {
	st, err := findings.Create(ctx, r)
	if err != nil {
		return err
	}
	st.State, st.ResolvedAt = audit.StateResolved, monday
	if st, err = findings.Update(ctx, st); err != nil {
		return err
	}
	if _, _, err = findings.Load(ctx); err != nil {
		return err
	}
	if st, err = findings.Get(ctx, r.ID); err != nil {
		return err
	}
	return findings.Delete(ctx, st)
}

// grant gives an account rights in the home, and returns when they are
// effective.
func grant(t *testing.T, c *kubetest.Cluster, account string, rights []right) {
	t.Helper()
	var rules []rbacv1.PolicyRule
	for _, r := range rights {
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.resource}, Verbs: []string{r.verb}})
	}
	rbac := clientset(t, c.Config(kubetest.Admin)).RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: account}, Rules: rules}
	must(rbac.Roles(home).Create(t.Context(), role, metav1.CreateOptions{}))(t)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: account}},
	}
	must(rbac.RoleBindings(home).Create(t.Context(), binding, metav1.CreateOptions{}))(t)
	last := rights[len(rights)-1]
	for range 200 {
		out, _ := c.Kubectl(t.Context(), "auth", "can-i", last.verb, last.resource+"."+last.group, "-n", home, "--as", account)
		if strings.TrimSpace(out) == "yes" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("the rights of %s do not come", account)
}
