package main

import (
	"context"
	"log/slog"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/cmd/audit/serve"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/metrics"
)

// serve sweeps until the context ends, which is not an error, and publishes if that
// was requested. An error means that it could not start.
func (o *sweepOptions) serve(ctx context.Context) error {
	log := slog.New(slog.NewTextHandler(o.err, nil))
	exporter := metrics.NewExporter(o.config.Cluster, labelValues(&o.config))
	open := o.openReadOnly
	if o.publish {
		open = func(exporter *metrics.Exporter) (*publication, error) {
			return o.open(exporter, func(err error) { log.Warn("lease not released", "err", err) })
		}
	}
	p, err := open(exporter)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	options := &serve.Options{
		Interval: o.interval, Jitter: o.jitter, Delivery: notify.MaxDelivery + notify.Grace, Listen: o.listen, Meter: p.meter, Now: o.now, Log: log,
		// Nothing else shows the findings of a process that publishes nothing.
		LogFindings: !o.publish,
		// The lease is kept between sweeps, so a single sweep needs no lock. Reading may
		// take an interval at most.
		Sweep: func(ctx context.Context) (*audit.Result, *audit.Published, error) {
			return o.sweep(ctx, p, o.set, min(o.timeout, o.interval), noLock{})
		},
		Started: func() {
			o.stopping.allow(o.grace) // from here on, a signal stops the process gracefully
			log.Info("started", "version", version(), "cluster", o.config.Cluster, "interval", o.interval, "publish", o.publish, "leaderElect", p.lock != nil)
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

// openReadOnly makes what sweeping without publishing needs. Findings are kept in
// memory, from sweep to sweep.
func (o *sweepOptions) openReadOnly(exporter *metrics.Exporter) (*publication, error) {
	p := &publication{publisher: &audit.Publisher{Store: &serve.Memory{}}}
	var err error
	if p.publisher.Source, err = o.rereader(); err != nil {
		return nil, err
	}
	p.publisher.Reconciler = o.reconciler()
	p.meter, err = o.newMeter(p, exporter)
	return p, err
}
