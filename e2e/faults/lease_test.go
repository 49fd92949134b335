package faults

import (
	"context"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// newLease returns the lease. With faults it is a short one, so that it is also lost.
func (s *stage) newLease(t *testing.T, clean bool) *lease.Lease {
	t.Helper()
	opts := lease.Options{Duration: 2 * time.Second, Renew: time.Second, Retry: 50 * time.Millisecond}
	if clean {
		opts = lease.Options{}
	}
	cfg := s.proxy.Config(kubetest.Admin)
	if !clean {
		cfg.Timeout = opts.Renew / 2
	}
	lease, err := lease.New(cfg, home, home, opts)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// turns is the Lease as a lock.
type turns struct {
	lease      *lease.Lease
	swept      func() // called between reading and publishing
	unreleased *bool
}

// Acquire implements audit.Lock.
func (l *turns) Acquire(ctx context.Context, begin func()) (context.Context, func(), error) {
	l.swept()
	turn, err := l.lease.AcquireAfter(ctx, 300*time.Millisecond, begin)
	if err != nil {
		return nil, nil, err
	}
	return turn.Context(), func() { *l.unreleased = turn.Close() != nil }, nil
}
