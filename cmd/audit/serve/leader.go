package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/eventuallytrue/audit/audit/kube/lease"
)

const (
	// unlimited is longer than any process lives.
	unlimited = 100 * 365 * 24 * time.Hour
	// acquireRetry is the time between two attempts while requests for the lease fail.
	acquireRetry = 2 * time.Second
	// releaseWithin is how long a process that is stopping tries to release its lease.
	// Where that fails, the next leader waits until the lease expires.
	releaseWithin = 3 * time.Second
	// complainEvery is how often the log repeats that requests for the lease fail. The
	// error may differ each time, so repeats cannot be recognized by it.
	complainEvery = time.Minute
)

// candidate stands by until it has the lease, works while it holds it, and stands
// by again when the lease is lost. Unlike a publisher that runs once, it keeps the
// lease between sweeps, so that the other candidates do not sweep at all.
type candidate struct {
	acquire func(ctx context.Context, wait time.Duration) (held context.Context, release func(), err error)
	work    func(held context.Context) // until the context ends
	health  *health
	log     *slog.Logger
	retry   time.Duration // between two attempts that fail
	release time.Duration // longest time to release the lease
	now     func() time.Time
	sleep   func(context.Context, time.Duration)

	complained time.Time // zero while requests for the lease succeed
}

// run alternates between standing by and leading, until the context ends.
func (c *candidate) run(ctx context.Context) {
	for ctx.Err() == nil {
		held, release, err := c.stand(ctx)
		switch {
		case err == nil:
			c.complained = time.Time{}
			c.lead(held, release)
		case ctx.Err() == nil:
			c.health.blocked()
			c.complain(err)
			c.sleep(ctx, c.retry)
		}
	}
}

// stand waits for the lease without limit. A first attempt that does not wait shows
// whether there is another leader.
func (c *candidate) stand(ctx context.Context) (context.Context, func(), error) {
	held, release, err := c.acquire(ctx, 0)
	var other *lease.HeldError
	if !errors.As(err, &other) {
		return held, release, err
	}
	c.complained = time.Time{}
	c.health.standingBy()
	c.log.Info("standing by", "leader", other.Holder)
	return c.acquire(ctx, unlimited)
}

// lead works until the lease is lost or the process is stopped, and then releases
// the lease. The work has ended by then: otherwise two would do it at once.
func (c *candidate) lead(held context.Context, release func()) {
	c.log.Info("leading")
	c.work(held)
	c.health.starting()
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
	case <-time.After(c.release):
		c.log.Warn("lease not released", "waited", c.release)
	}
}

// complain logs that requests for the lease fail: at once, and then at intervals.
func (c *candidate) complain(err error) {
	if now := c.now(); c.complained.IsZero() || now.Sub(c.complained) >= complainEvery {
		c.complained = now
		c.log.Error("cannot request the lease", "err", err)
	}
}
