package faults

import (
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// home is the namespace of the findings, and the name of the Lease in it.
const home = "audit"

// lab is the cluster that all runs are played on, one after the other.
type lab struct {
	cluster *kubetest.Cluster
	client  kubernetes.Interface
	store   *store.Store // without faults
	source  *source.Source
	now     world
	truth   truth // of the world as it is; nil: nobody has looked
}

func newLab(t *testing.T) *lab {
	t.Helper()
	c := control.Cluster(t)
	if err := c.InstallCRDs(t.Context(), filepath.Join("..", "..", "audit", "api", "v1alpha1")); err != nil {
		t.Fatal(err)
	}
	l := &lab{cluster: c}
	var err error
	if l.client, err = kubernetes.NewForConfig(c.Config(kubetest.Admin)); err != nil {
		t.Fatal(err)
	}
	if l.store, err = store.New(c.Config(kubetest.Admin), home, store.Options{}); err != nil {
		t.Fatal(err)
	}
	l.source = l.newSource(t, c.Config(kubetest.Admin))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
	if _, err := l.client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: home}}
	if _, err := l.client.CoordinationV1().Leases(home).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	found(t, l.client)
	// For so long the API server lets every creation of a new kind wait.
	time.Sleep(2100 * time.Millisecond)
	return l
}

// clear takes all findings away and frees the lease.
func (l *lab) clear(t *testing.T) {
	t.Helper()
	client, err := dynamic.NewForConfig(l.cluster.Config(kubetest.Admin))
	if err != nil {
		t.Fatal(err)
	}
	findings := client.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.Resource)).Namespace(home)
	if err := findings.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	l.freeLease(t)
}

// freeLease takes the lease from whoever has it, as if its time had run out, and
// returns who that was.
func (l *lab) freeLease(t *testing.T) string {
	t.Helper()
	leases := l.client.CoordinationV1().Leases(home)
	lease, err := leases.Get(t.Context(), home, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	lease.Spec = coordinationv1.LeaseSpec{}
	if _, err := leases.Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return holder
}

// stored returns what is stored, by ID.
func (l *lab) stored(t *testing.T) map[string]audit.Stored {
	t.Helper()
	records, newer, err := l.store.Load(t.Context())
	if err != nil || len(newer) > 0 {
		t.Fatalf("load what is stored: %v, not understood %q", err, newer)
	}
	out := map[string]audit.Stored{}
	for _, s := range records {
		out[s.ID] = s
	}
	return out
}

func (l *lab) turn(t *testing.T, w world) {
	t.Helper()
	if l.now != w {
		lay(t, l.client, l.now, w)
		l.now, l.truth = w, nil
	}
}
