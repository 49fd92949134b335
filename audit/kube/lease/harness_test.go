package lease_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

var control = &kubetest.Shared{}

func TestMain(m *testing.M) { os.Exit(control.Main(m)) }

// home is the namespace of the leases.
const home = "audit"

func makeHome(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
	must(clientset(t, c.Config(kubetest.Admin)).CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}))(t)
}

func clientset(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	return must(kubernetes.NewForConfig(cfg))(t)
}

func serve(t *testing.T, handler http.Handler) *rest.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

type leaseObject = coordinationv1.Lease

func leaseOf(t *testing.T, c *kubetest.Cluster) (*leaseObject, error) {
	t.Helper()
	return clientset(t, c.Config(kubetest.Admin)).CoordinationV1().Leases(home).Get(t.Context(), "audit", metav1.GetOptions{})
}

// change changes the lease object behind its holder's back.
func change(t *testing.T, c *kubetest.Cluster, f func(*leaseObject)) {
	t.Helper()
	leases := clientset(t, c.Config(kubetest.Admin)).CoordinationV1().Leases(home)
	for range 10 {
		l := must(leaseOf(t, c))(t)
		f(l)
		_, err := leases.Update(t.Context(), l, metav1.UpdateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
	t.Fatal("the lease cannot be changed: its holder is always faster")
}

// lostWithin waits until the lease is lost, which must not take longer than given.
func lostWithin(t *testing.T, h *lease.Held, most time.Duration) {
	t.Helper()
	select {
	case <-h.Context().Done():
	case <-time.After(most):
		t.Fatalf("it is not lost after %s", most)
	}
	if !errors.Is(context.Cause(h.Context()), lease.ErrLost) {
		t.Errorf("it ended with %v", context.Cause(h.Context()))
	}
}
