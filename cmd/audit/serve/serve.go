// Package serve sweeps a cluster at an interval until it is stopped: the loop,
// leader election, the health endpoints and the metrics of each sweep.
package serve

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube"
)

// Options are what the long-running mode needs.
type Options struct {
	// Jitter is how early or late a sweep may come, at most Interval, so that nobody knows
	// when it is safe to break a rule for a moment.
	Jitter   time.Duration
	Interval time.Duration // between the starts of two sweeps
	// Delivery is how long notifying owners may take after a sweep, which may be longer
	// than the interval: one message a second is as fast as some receivers are.
	Delivery time.Duration
	Listen   string // address of the HTTP server; empty: no server

	// Sweep sweeps once and publishes, or keeps the findings in memory.
	Sweep    func(context.Context) (*audit.Result, *audit.Published, error)
	Election *Election // nil: without leader election
	Meter    *Meter    // nil: without metrics
	Now      func() time.Time
	Log      *slog.Logger
	// LogFindings logs a line for each finding that opens or resolves.
	LogFindings bool

	// Started is called once nothing can prevent the first sweep any more.
	Started func()
}

// Election is how a process competes for the lease.
type Election struct {
	// Acquire waits for the lease for at most the given time. The returned context ends
	// when the lease is lost. While another process holds the lease the error is a
	// *lease.HeldError.
	Acquire func(ctx context.Context, wait time.Duration) (held context.Context, release func(), err error)
	// Unreachable returns why the last request for the lease did not reach the API
	// server, nil if it did.
	Unreachable func() error
}

// Run sweeps until the context ends, which is not an error. An error means that it
// could not start.
func Run(ctx context.Context, o *Options) error {
	state := &health{now: o.Now, late: lateAfter*o.Interval + o.Delivery}
	if o.Election != nil {
		state.unreachable = o.Election.Unreachable
	}
	server, err := startServer(ctx, o.Listen, handler(state, o.Meter.handler()), o.Log)
	if err != nil {
		return err
	}
	defer server.close()
	o.Started()
	// A whole sweep may take two intervals, besides notifying owners. One that still runs
	// after three is stuck rather than slow, and /healthz reports it.
	sweeps := &sweeper{publish: o.Sweep, now: o.Now, log: o.Log, meter: o.Meter, limit: 2*o.Interval + o.Delivery, findings: o.LogFindings}
	rounds := &loop{
		interval: o.Interval, jitter: o.Jitter, sweep: sweeps.sweep, health: state, now: o.Now,
		random: rand.Float64, sleep: kube.Sleep,
	}
	work := func(ctx context.Context) {
		defer o.Meter.clear() // the next leader shows its own results
		rounds.run(ctx)
	}
	if o.Election != nil {
		work = (&candidate{
			acquire: o.Election.Acquire, work: work, health: state, log: o.Log,
			retry: acquireRetry, release: releaseWithin, now: o.Now, sleep: kube.Sleep,
		}).run
	}
	work(ctx)
	o.Log.Info("stopped", "reason", context.Cause(ctx))
	return nil
}
