package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/spf13/pflag"

	"github.com/eventuallytrue/audit/audit"
)

// serveOptions are the flags of sweeping continuously.
type serveOptions struct {
	interval time.Duration
	listen   string
	grace    time.Duration
}

func (s *serveOptions) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&s.interval, "interval", 10*time.Minute,
		"without --once: time from the beginning of one sweep to that of the next, give or take a tenth")
	flags.StringVar(&s.listen, "listen", ":8080", `without --once: address on which /healthz, /readyz and /metrics are served; "" serves nothing`)
	flags.DurationVar(&s.grace, "grace", 20*time.Second,
		"without --once: how long ending may take, until what is under way is cut")
}

// completeMode refuses the flags that have no meaning in the mode that is asked
// for. Without --once the program publishes, since nobody reads its output.
func (o *sweepOptions) completeMode(flags *pflag.FlagSet) error {
	if o.once {
		for _, name := range []string{"interval", "listen", "grace"} {
			if flags.Changed(name) {
				return fmt.Errorf("--%s has no meaning beside --once", name)
			}
		}
		if flags.Changed("leader-elect") && !o.publishing.publish {
			return fmt.Errorf("--leader-elect has no meaning where nothing is published: add --publish")
		}
		return nil
	}
	for _, name := range []string{"from", "namespace", "rule", "previous", "output", "fail-on", "lease-wait"} {
		if flags.Changed(name) {
			return fmt.Errorf("--%s has no meaning without --once", name)
		}
	}
	if flags.Changed("publish") && !o.publishing.publish {
		return fmt.Errorf("--publish=false has no meaning without --once: what is swept continuously is kept in the cluster")
	}
	o.publishing.publish = true
	if o.serving.interval <= 0 {
		return fmt.Errorf("--interval: %s is not more than nothing", o.serving.interval)
	}
	if o.serving.grace <= 0 {
		return fmt.Errorf("--grace: %s is not more than nothing", o.serving.grace)
	}
	return nil
}

// serve sweeps and publishes until the context ends, which is no error. An error
// means that it could not begin.
func (o *sweepOptions) serve(ctx context.Context) error {
	publisher, lock, err := o.openStore()
	if err != nil {
		return &exitError{exitUsage, err}
	}
	meter, err := o.newMeter(publisher, lock)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	log := slog.New(slog.NewTextHandler(o.err, nil))
	state := &health{now: o.now, late: lateAfter * o.serving.interval}
	turns, elected := lock.(turns)
	if elected {
		state.unreached = turns.reach.failure
	}
	server, err := startServer(ctx, o.serving.listen, handler(state, meter.handler()), log)
	if err != nil {
		return &exitError{exitUsage, err}
	}
	defer server.close()
	// From here on a signal finds somebody who ends in order.
	o.ending.allow(o.serving.grace)
	rounds := &loop{
		interval: o.serving.interval, sweep: o.sweeper(publisher, meter, log).sweep, health: state,
		now: o.now, random: rand.Float64, sleep: sleep,
	}
	log.Info("started", "version", version(), "cluster", o.config.Cluster, "interval", o.serving.interval, "leaderElect", o.publishing.leaderElect)
	// Whoever sweeps next shows it himself.
	work := func(ctx context.Context) {
		defer meter.clear()
		rounds.run(ctx)
	}
	if elected {
		turns.failed = func(err error) { log.Warn("lease not given back", "err", err) }
		work = (&candidate{
			acquire: turns.within, work: work, health: state, log: log,
			retry: candidateRetry, giveBack: giveBackWithin, now: o.now, sleep: sleep,
		}).run
	}
	work(ctx)
	log.Info("ended", "reason", context.Cause(ctx))
	return nil
}

// sweeper returns what makes one sweep after the other. Reading may take an
// interval at most, and a sweep as a whole two: one that still runs after three
// is then not slow but stuck, and /healthz may say so.
func (o *sweepOptions) sweeper(publisher *audit.Publisher, meter *meter, log *slog.Logger) *sweeper {
	source := timed{o.source, min(o.timeout, o.serving.interval)}
	return &sweeper{
		now: o.now, log: log, meter: meter, limit: 2 * o.serving.interval,
		publish: func(ctx context.Context) (*audit.Result, *audit.Published, error) {
			res, published, err := audit.SweepAndPublish(ctx, source, o.set, &o.config, o.now, publisher, alone{})
			o.recordEvents(ctx, publisher, res, published)
			return res, published, err
		},
	}
}

// sleep waits for a time, or until the context ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
