package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

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
