package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/eventuallytrue/audit/audit/kube/lease"
)

const (
	// forever is longer than any process lives.
	forever = 100 * 365 * 24 * time.Hour
	// candidateRetry is the time between two tries to ask for a lease that
	// cannot even be asked for.
	candidateRetry = 2 * time.Second
	// giveBackWithin is how long an ending process tries to give its lease back.
	// If that fails, the next one waits until it has run out, and nothing worse.
	giveBackWithin = 3 * time.Second
	// complainEvery is how often the log repeats that the lease cannot be asked
	// for. The reason may look different each time, so it is no measure.
	complainEvery = time.Minute
)

// candidate stands by until it has the lease, works while it holds it, and stands
// by again when it is lost. Unlike a publisher that runs once it keeps the lease
// between sweeps: the others shall not sweep at all.
type candidate struct {
	acquire  func(ctx context.Context, wait time.Duration) (held context.Context, release func(), err error)
	work     func(held context.Context) // until the context ends
	health   *health
	log      *slog.Logger
	retry    time.Duration
	giveBack time.Duration
	now      func() time.Time
	sleep    func(context.Context, time.Duration)

	complained time.Time // zero while the lease can be asked for
}

// run stands by and leads in turn, until the context ends.
func (c *candidate) run(ctx context.Context) {
	for ctx.Err() == nil {
		held, release, err := c.stand(ctx)
		switch {
		case err == nil:
			c.complained = time.Time{}
			c.lead(held, release)
		case ctx.Err() == nil:
			c.health.shutOut()
			c.complain(err)
			c.sleep(ctx, c.retry)
		}
	}
}

// stand waits for the lease for as long as it takes. A first try that does not
// wait tells whether there is somebody to stand by for.
func (c *candidate) stand(ctx context.Context) (context.Context, func(), error) {
	held, release, err := c.acquire(ctx, 0)
	var other *lease.HeldError
	if !errors.As(err, &other) {
		return held, release, err
	}
	c.complained = time.Time{}
	c.health.standingBy()
	c.log.Info("standing by", "leader", other.Holder)
	return c.acquire(ctx, forever)
}

// lead works until the lease is lost or the process is told to end, and then
// gives the lease back. Work has ended by then, or two would be at it.
func (c *candidate) lead(held context.Context, release func()) {
	c.log.Info("leading")
	c.work(held)
	c.health.asking()
	if errors.Is(context.Cause(held), lease.ErrLost) {
		c.log.Warn("lost the lease")
	}
	released := make(chan struct{})
	go func() {
		defer close(released)
		release()
	}()
	select {
	case <-released:
	case <-time.After(c.giveBack):
		c.log.Warn("lease not given back", "waited", c.giveBack)
	}
}

// complain logs that the lease cannot be asked for: at once, and then now and
// again.
func (c *candidate) complain(err error) {
	if now := c.now(); c.complained.IsZero() || now.Sub(c.complained) >= complainEvery {
		c.complained = now
		c.log.Error("cannot ask for the lease", "err", err)
	}
}
