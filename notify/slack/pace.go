package slack

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Slack takes a message a second and channel. A second is counted from the answer
// to the last message and not from when it was sent, so that no jitter on the way
// brings two of them closer together than that.
const interval = time.Second

// Clock is the time that a sender waits by.
type Clock struct {
	Now func() time.Time
	// Sleep waits, or returns the error of the context where that ends first.
	Sleep func(context.Context, time.Duration) error
}

// SystemClock is the time of the machine.
func SystemClock() Clock {
	return Clock{Now: time.Now, Sleep: func(ctx context.Context, d time.Duration) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
			return nil
		}
	}}
}

// pace keeps the pace of every channel: each has one call at a time, and none
// before its time. One that has to wait holds up no other.
type pace struct {
	clock Clock
	mu    sync.Mutex
	lanes map[string]*lane
	ids   map[string]string // of channels, by the names that they were reached by
}

type lane struct {
	turn chan struct{} // holds one value while nobody has the turn
	free time.Time     // whoever has the turn may call from then on; guarded by pace.mu
}

// enter waits for the turn and the time of a channel. leave gives the turn back,
// and the channel takes nothing for as long as it says.
func (p *pace) enter(ctx context.Context, channel string) (leave func(time.Duration), err error) {
	l := p.lane(channel)
	select {
	case <-l.turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the turn: %w", ctx.Err())
	}
	leave = func(d time.Duration) {
		p.mu.Lock()
		p.rest(l, d)
		p.mu.Unlock()
		l.turn <- struct{}{}
	}
	for {
		p.mu.Lock()
		free := l.free
		p.mu.Unlock()
		wait := free.Sub(p.clock.Now())
		if wait <= 0 {
			return leave, nil
		}
		// To wait for what comes after the end would only hold up whoever asked.
		if end, ok := ctx.Deadline(); ok && end.Before(free) {
			leave(0)
			return nil, fmt.Errorf("slack takes nothing for %s, and the time ends before that: %w", wait.Round(time.Second), context.DeadlineExceeded)
		}
		if err := p.clock.Sleep(ctx, wait); err != nil {
			leave(0)
			return nil, fmt.Errorf("wait for slack: %w", err)
		}
	}
}

// rest makes a lane take nothing for a while, under the lock.
func (p *pace) rest(l *lane, d time.Duration) {
	if free := p.clock.Now().Add(d); free.After(l.free) {
		l.free = free
	}
}

// known notes that a name is that of a channel, which takes nothing for a while:
// Slack counts by channel, whatever it was called.
func (p *pace) known(name, id string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids == nil {
		p.ids = map[string]string{}
	}
	p.ids[name] = id
	p.rest(p.locked(id), d)
}

func (p *pace) lane(channel string) *lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := p.ids[channel]; ok {
		channel = id
	}
	return p.locked(channel)
}

// locked is lane for whoever has the lock and the ID.
func (p *pace) locked(channel string) *lane {
	l := p.lanes[channel]
	if l == nil {
		l = &lane{turn: make(chan struct{}, 1)}
		l.turn <- struct{}{}
		if p.lanes == nil {
			p.lanes = map[string]*lane{}
		}
		p.lanes[channel] = l
	}
	return l
}
