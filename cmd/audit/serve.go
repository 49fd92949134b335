package main

import (
	"context"
	"log/slog"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/cmd/audit/serve"
	"github.com/eventuallytrue/audit/notify/metrics"
)

// serve publishes sweeps until the context ends, which is not an error. An error
// means that it could not start.
func (o *sweepOptions) serve(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(o.err, nil))
	exporter := metrics.NewExporter(o.config.Cluster, labelValues(&o.config))
	p, err := o.open(exporter, func(err error) { log.Warn("lease not released", "err", err) })
	if err != nil {
		return &exitError{exitUsage, err}
	}
	options := &serve.Options{
		Interval: o.interval, Listen: o.listen, Meter: p.meter, Now: o.now, Log: log,
		// The lease is kept between sweeps, so a single sweep needs no lock. Reading may
		// take an interval at most.
		Sweep: func(ctx context.Context) (*audit.Result, *audit.Published, error) {
			return o.sweep(ctx, p, o.set, min(o.timeout, o.interval), noLock{})
		},
		Started: func() {
			o.stopping.allow(o.grace) // from here on, a signal stops the process gracefully
			log.Info("started", "version", version(), "cluster", o.config.Cluster, "interval", o.interval, "leaderElect", o.lease.elect)
		},
	}
	if p.lock != nil {
		options.Election = &serve.Election{Acquire: p.lock.acquireWithin, Unreachable: p.lock.probe.failure}
	}
	if err := serve.Run(ctx, options); err != nil {
		return &exitError{exitUsage, err}
	}
	return nil
}
