package serve

import (
	"context"
	"slices"
	"testing"
	"time"
)

// today is the time at which the tests begin.
var today = time.Date(2026, 6, 1, 8, 0, 0, 0, time.UTC)

// fakeClock is a clock that advances when a test sleeps or works.
type fakeClock struct {
	now    time.Time
	slept  []time.Duration
	onWake func()
}

func (b *fakeClock) clock() time.Time { return b.now }

func (b *fakeClock) sleep(_ context.Context, d time.Duration) {
	b.slept = append(b.slept, d)
	b.now = b.now.Add(d)
	if b.onWake != nil {
		b.onWake()
	}
}

func (b *fakeClock) health() *health {
	return &health{now: b.clock, late: lateAfter * time.Minute, unreachable: func() error { return nil }}
}

func TestLoopSweepsAtOnceAndThenEveryInterval(t *testing.T) {
	b := &fakeClock{now: today}
	ctx, cancel := context.WithCancel(t.Context())
	var began []time.Duration
	running := false
	l := &loop{
		interval: time.Minute, health: b.health(), now: b.clock, sleep: b.sleep,
		random: func() float64 { return 0.5 }, // no jitter
		sweep: func(context.Context) bool {
			if running {
				t.Error("two sweeps at once")
			}
			running = true
			began = append(began, b.now.Sub(today))
			b.now = b.now.Add(10 * time.Second)
			if len(began) == 4 {
				cancel()
			}
			running = false
			return true
		},
	}
	l.run(ctx)
	if want := []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute}; !slices.Equal(began, want) {
		t.Errorf("sweeps began at %v, want %v", began, want)
	}
}

func TestPauseIsAsEarlyOrLateAsTheJitter(t *testing.T) {
	for random, want := range map[float64]time.Duration{0: 20 * time.Second, 0.5: time.Minute, 0.75: 80 * time.Second} {
		l := &loop{interval: time.Minute, jitter: 40 * time.Second, random: func() float64 { return random }}
		if got := l.pause(0); got != want {
			t.Errorf("random %v: %s, want %s", random, got, want)
		}
	}
}

func TestPauseIsAnIntervalGiveOrTakeATenth(t *testing.T) {
	for _, tt := range []struct {
		random     float64
		took, want time.Duration
	}{
		{0, 0, 54 * time.Second},
		{0.5, 0, 60 * time.Second},
		{0.9999999999, 0, 66 * time.Second},
		{0.5, 20 * time.Second, 40 * time.Second},
		{0.5, 59 * time.Second, 6 * time.Second}, // never without a pause
		{0.5, time.Hour, 6 * time.Second},
	} {
		l := &loop{interval: time.Minute, random: func() float64 { return tt.random }}
		if got := l.pause(tt.took).Round(time.Millisecond); got != tt.want {
			t.Errorf("random %v, after %s: %s, want %s", tt.random, tt.took, got, tt.want)
		}
	}
}

func TestLoopStopsWhenTheContextEnds(t *testing.T) {
	b := &fakeClock{now: today}
	ctx, cancel := context.WithCancel(t.Context())
	b.onWake = cancel
	sweeps := 0
	l := &loop{
		interval: time.Minute, health: b.health(), now: b.clock, sleep: b.sleep, random: func() float64 { return 0 },
		sweep: func(context.Context) bool { sweeps++; return true },
	}
	l.run(ctx)
	l.run(ctx)
	if sweeps != 1 {
		t.Errorf("%d sweeps", sweeps)
	}
}
