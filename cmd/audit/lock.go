package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/lease"
)

// leaseName is the Lease that publishers take turns by.
const leaseName = "audit"

// turns is the lock of a publisher: the Lease in the namespace of the findings.
type turns struct {
	lease *lease.Lease
	wait  time.Duration
	reach *reach // of the server that has the lease
	// failed is told of a lease that could not be given back. The next publisher
	// has to wait for its end then, and nothing worse.
	failed func(error)
}

// alone is the lock of a publisher that takes no turns.
type alone struct{}

// Acquire implements audit.Lock.
func (alone) Acquire(ctx context.Context, _ func()) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

// newLock makes the lock that the flags ask for.
func (o *sweepOptions) newLock(cfg *rest.Config) (audit.Lock, error) {
	p := &o.publishing
	if !p.leaderElect || p.dryRun {
		return alone{}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "audit"
	}
	reach := &reach{}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(reach.watch)
	// A request that hangs must leave time for another, and one that stands by
	// must not wait for its answer for ever.
	cfg.Timeout = p.renewFor / 2
	lease, err := lease.New(cfg, p.namespace, leaseName, lease.Options{
		UserAgent: userAgent(), Host: host, Duration: p.leaseFor, Renew: p.renewFor, Retry: p.retryAfter,
	})
	if err != nil {
		return nil, err
	}
	return turns{lease, p.leaseWait, reach, func(err error) {
		fmt.Fprintf(o.err, "audit: %s\n", safeLine(err.Error()))
	}}, nil
}

// Acquire implements audit.Lock.
func (t turns) Acquire(ctx context.Context, begin func()) (context.Context, func(), error) {
	return t.held(t.lease.AcquireAfter(ctx, t.wait, begin))
}

// within is Acquire that waits as long as it is told.
func (t turns) within(ctx context.Context, wait time.Duration) (context.Context, func(), error) {
	return t.held(t.lease.Acquire(ctx, wait))
}

func (t turns) held(turn *lease.Held, err error) (context.Context, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	return turn.Context(), func() {
		if err := turn.Close(); err != nil {
			t.failed(err)
		}
	}, nil
}
