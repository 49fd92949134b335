package main

import (
	"context"
	"time"
)

// jitter is the part of an interval by which a sweep may come early or late, so
// that the sweeps of many clusters do not fall together.
const jitter = 0.1

// loop makes one sweep after another, never two at once.
type loop struct {
	interval time.Duration
	sweep    func(context.Context) (complete bool)
	health   *health
	now      func() time.Time
	random   func() float64 // from 0 up to 1
	sleep    func(context.Context, time.Duration)
}

// run sweeps at once and then again and again, until the context ends.
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

// pause returns how long to wait after a sweep that took so long. Sweeps begin an
// interval apart. One that takes longer than that is followed by a short pause
// all the same, since a server that is slow must not be asked without end.
func (l *loop) pause(took time.Duration) time.Duration {
	apart := time.Duration(float64(l.interval) * (1 + jitter*(2*l.random()-1)))
	return max(apart-took, l.interval/10)
}
