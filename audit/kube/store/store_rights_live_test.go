package store_test

import (
	"context"
	"slices"
	"strings"
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

// right is one thing that an account may do in its own namespace.
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
	// An account for all rights, and one for all but each.
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

// useAll does whatever a publisher does.
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

// grant gives an account rights in the home, and returns when the server goes by
// them.
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
