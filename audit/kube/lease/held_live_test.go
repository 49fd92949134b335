package lease_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// A holder that has long been gone is waited for as well, since its clock may be
// wrong.
func testTakeover(t *testing.T, c *kubetest.Cluster) {
	first := must(newLease(t, c.Config(kubetest.Admin), "first").Acquire(t.Context(), patience))(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	gone := must(leaseOf(t, c))(t)
	crashed, seconds, ago := "crashed_1", int32(2), metav1.NewMicroTime(time.Now().Add(-time.Hour))
	gone.Spec.HolderIdentity, gone.Spec.LeaseDurationSeconds, gone.Spec.RenewTime = &crashed, &seconds, &ago
	leases := clientset(t, c.Config(kubetest.Admin)).CoordinationV1().Leases(home)
	must(leases.Update(t.Context(), gone, metav1.UpdateOptions{}))(t)
	began := time.Now()
	second := must(newLease(t, c.Config(kubetest.Admin), "second").Acquire(t.Context(), patience))(t)
	defer second.Close()
	if took := time.Since(began); took < leaseDuration || took > leaseDuration+3*time.Second {
		t.Errorf("it took %s", took)
	}
}

func testCutOff(t *testing.T, c *kubetest.Cluster) {
	for name, answer := range map[string]kubetest.Answer{
		"hang": kubetest.Hang(), "fail": kubetest.Text(http.StatusBadGateway, "bad gateway"),
	} {
		t.Run(name, func(t *testing.T) {
			var off atomic.Bool
			p := c.StartProxy(t, func(*http.Request) kubetest.Answer {
				if off.Load() {
					return answer
				}
				return nil
			})
			first := must(newLease(t, p.Config(kubetest.Admin), "first").Acquire(t.Context(), patience))(t)
			time.Sleep(2 * leaseRetry)
			off.Store(true)
			cut := time.Now()
			// The next holder starts to watch when the renewals end.
			second := must(newLease(t, c.Config(kubetest.Admin), "second").Acquire(t.Context(), patience))(t)
			defer second.Close()
			if !errors.Is(context.Cause(first.Context()), lease.ErrLost) {
				t.Errorf("the first still holds it: %v", context.Cause(first.Context()))
			}
			if took := time.Since(cut); took < leaseRenew {
				t.Errorf("it was taken over after %s", took)
			}
			if err := first.Close(); err != nil {
				t.Error(err)
			}
			if second.Context().Err() != nil {
				t.Error("the first took it from the second when it closed")
			}
		})
	}
}

func testStolen(t *testing.T, c *kubetest.Cluster) {
	first := must(newLease(t, c.Config(kubetest.Admin), "first").Acquire(t.Context(), patience))(t)
	thief := "thief"
	change(t, c, func(l *leaseObject) { l.Spec.HolderIdentity = &thief })
	lostWithin(t, first, leaseRenew)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if who := *must(leaseOf(t, c))(t).Spec.HolderIdentity; who != thief {
		t.Errorf("%q has it", who)
	}
}

func testDeleted(t *testing.T, c *kubetest.Cluster) {
	first := must(newLease(t, c.Config(kubetest.Admin), "first").Acquire(t.Context(), patience))(t)
	defer first.Close()
	err := clientset(t, c.Config(kubetest.Admin)).CoordinationV1().Leases(home).Delete(t.Context(), "audit", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	lostWithin(t, first, leaseRenew)
}

func testAnnotated(t *testing.T, c *kubetest.Cluster) {
	first := must(newLease(t, c.Config(kubetest.Admin), "first").Acquire(t.Context(), patience))(t)
	for range 3 {
		change(t, c, func(l *leaseObject) { l.Annotations = map[string]string{"at": time.Now().String()} })
		time.Sleep(leaseRetry)
	}
	time.Sleep(leaseRenew)
	if err := context.Cause(first.Context()); err != nil {
		t.Error(err)
	}
	change(t, c, func(l *leaseObject) { l.Annotations = nil })
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if who := *must(leaseOf(t, c))(t).Spec.HolderIdentity; who != "" {
		t.Errorf("%q still has it", who)
	}
}
