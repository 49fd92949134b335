package lease_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// The times of leases in tests.
const (
	leaseDuration = 2 * time.Second
	leaseRenew    = 1200 * time.Millisecond
	leaseRetry    = 200 * time.Millisecond
)

// patience is longer than any wait in these tests.
const patience = 20 * time.Second

func newLease(t *testing.T, cfg *rest.Config, host string) *lease.Lease {
	t.Helper()
	l, err := lease.New(cfg, home, "audit", lease.Options{
		Host: host, Duration: leaseDuration, Renew: leaseRenew, Retry: leaseRetry,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLiveLease(t *testing.T) {
	c := control.Cluster(t)
	makeHome(t, c)
	for _, tt := range []struct {
		name string
		test func(*testing.T, *kubetest.Cluster)
	}{
		{"passes at once from a holder that releases it to the next", testRelease},
		{"names its holder when waiting for it failed", testHolderNamed},
		{"is renewed for longer than it lasts", testRenewed},
		{"is taken over when its holder has not renewed it for its duration", testTakeover},
		{"ends for a holder cut off from the server, before it is taken over", testCutOff},
		{"ends at once for a holder that sees another holder", testStolen},
		{"ends at once for a holder that sees it deleted", testDeleted},
		{"survives an annotation by someone else", testAnnotated},
		{"is released after the context of its holder has ended", testEnded},
		{"is never held by two of many", testMany},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := clientset(t, c.Config(kubetest.Admin)).CoordinationV1().Leases(home).
				DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tt.test(t, c)
		})
	}
}

func testRelease(t *testing.T, c *kubetest.Cluster) {
	first := must(newLease(t, c.Config(kubetest.Admin), "first").Acquire(t.Context(), patience))(t)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if first.Context().Err() == nil {
		t.Error("the context of what was released has not ended")
	}
	second := must(newLease(t, c.Config(kubetest.Admin), "second").Acquire(t.Context(), 0))(t)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Errorf("close twice: %v", err)
	}
	if n := *must(leaseOf(t, c))(t).Spec.LeaseTransitions; n != 1 {
		t.Errorf("%d transitions", n)
	}
}

func testHolderNamed(t *testing.T, c *kubetest.Cluster) {
	first := must(newLease(t, c.Config(kubetest.Admin), "first").Acquire(t.Context(), patience))(t)
	defer first.Close()
	for _, wait := range []time.Duration{0, 3 * leaseRetry} {
		began := time.Now()
		_, err := newLease(t, c.Config(kubetest.Admin), "second").Acquire(t.Context(), wait)
		var held *lease.HeldError
		if !errors.As(err, &held) || held.Holder != first.Identity() || !strings.HasPrefix(held.Holder, "first_") {
			t.Errorf("after %s: %v", wait, err)
		}
		if took := time.Since(began); took < wait {
			t.Errorf("it waited %s and not %s", took, wait)
		}
	}
	if first.Context().Err() != nil {
		t.Error("the holder lost it")
	}
}

func testRenewed(t *testing.T, c *kubetest.Cluster) {
	first := must(newLease(t, c.Config(kubetest.Admin), "first").Acquire(t.Context(), patience))(t)
	defer first.Close()
	_, err := newLease(t, c.Config(kubetest.Admin), "second").Acquire(t.Context(), leaseDuration+leaseRenew)
	var held *lease.HeldError
	if !errors.As(err, &held) {
		t.Errorf("the second: %v", err)
	}
	if err := context.Cause(first.Context()); err != nil {
		t.Error(err)
	}
}

func testEnded(t *testing.T, c *kubetest.Cluster) {
	ctx, cancel := context.WithCancel(t.Context())
	first := must(newLease(t, c.Config(kubetest.Admin), "first").Acquire(ctx, patience))(t)
	cancel()
	if !errors.Is(context.Cause(first.Context()), context.Canceled) {
		t.Errorf("cause %v", context.Cause(first.Context()))
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	second := must(newLease(t, c.Config(kubetest.Admin), "second").Acquire(t.Context(), 0))(t)
	defer second.Close()
	if _, err := newLease(t, c.Config(kubetest.Admin), "third").Acquire(ctx, patience); !errors.Is(err, context.Canceled) {
		t.Errorf("acquire with an ended context: %v", err)
	}
}

func testMany(t *testing.T, c *kubetest.Cluster) {
	var holders, turns atomic.Int32
	done := make(chan error)
	const many = 6
	// Several also share one Lease value.
	shared := newLease(t, c.Config(kubetest.Admin), "shared")
	for i := range many {
		lease := shared
		if i%2 == 0 {
			lease = newLease(t, c.Config(kubetest.Admin), "own")
		}
		go func() {
			held, err := lease.Acquire(t.Context(), patience)
			if err == nil {
				if holders.Add(1) > 1 {
					t.Error("two have it")
				}
				turns.Add(1)
				time.Sleep(50 * time.Millisecond)
				holders.Add(-1)
				err = held.Close()
			}
			done <- err
		}()
	}
	for range many {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if turns.Load() != many {
		t.Errorf("%d turns", turns.Load())
	}
}
