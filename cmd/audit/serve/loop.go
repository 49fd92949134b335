package serve

import (
	"context"
	"time"
)

// jitter is the part of an interval by which a sweep may come early or late, so
// that the sweeps of many clusters spread out.
const jitter = 0.1

// loop makes one sweep after another, never two at once.
type loop struct {
	interval time.Duration
	jitter   time.Duration // how early or late a sweep may come; a tenth of the interval at least
	sweep    func(context.Context) (worked bool)
	health   *health
	now      func() time.Time
	random   func() float64 // from 0 up to 1
	sleep    func(context.Context, time.Duration)
}

// run sweeps at once and then at every interval, until the context ends.
func (l *loop) run(ctx context.Context) {
	for ctx.Err() == nil {
		began := l.now()
		l.health.sweeping()
		l.health.swept(l.sweep(ctx))
		pause := l.pause(l.now().Sub(began))
		l.health.pausing(pause)
		l.sleep(ctx, pause)
	}
}

// pause returns how long to wait after a sweep. Sweeps begin an interval apart. One
// that takes longer is followed by a short pause all the same, so that a slow API
// server is not under constant load.
func (l *loop) pause(took time.Duration) time.Duration {
	spread := max(float64(l.jitter), jitter*float64(l.interval))
	apart := l.interval + time.Duration(spread*(2*l.random()-1))
	return max(apart-took, l.interval/10)
}
