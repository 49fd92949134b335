package slack

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/eventuallytrue/audit/notify"
)

// Options are the options of a sender.
type Options struct {
	Clock Clock // zero: the system clock
	// Transport carries requests; nil: the default one, with the proxy from the
	// environment.
	Transport http.RoundTripper
	// Grace is how long a call may take after its context has ended; notify.Grace by
	// default.
	Grace time.Duration
}

// The bounds of one message.
const (
	timeout  = 30 * time.Second // of one call
	maxTries = 3                // while Slack or the network fails
	maxWaits = 20               // while Slack limits the rate
	backoff  = 2 * time.Second  // after the first failure, doubled after each
)

// caller calls Slack within its rate limits, and retries failures after which the message
// has not arrived. Where it may have arrived, it is not for the caller to send it again.
type caller struct {
	http  *http.Client
	pace  *pace
	grace time.Duration
}

func newCaller(o Options) caller {
	if o.Clock.Now == nil {
		o.Clock = SystemClock()
	}
	return caller{
		pace: &pace{clock: o.Clock}, grace: cmp.Or(o.Grace, notify.Grace),
		http: &http.Client{
			Transport: readUnavailable{o.Transport}, Timeout: timeout,
			// Following a redirect would turn the POST into a GET of something else, whose
			// success would be taken for that of the message.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// try makes a call in a lane until it has a final result. After that, the lane rests for
// the given time. Once the context has ended no call begins, but one that is under way
// finishes.
func (c caller) try(ctx context.Context, lane string, rest time.Duration, call func(context.Context) error) failure {
	tries, waits := 0, 0
	for {
		leave, err := c.pace.enter(ctx, lane)
		if err != nil {
			return failure{outcome: ended, text: err.Error(), cause: err}
		}
		f := c.once(ctx, call)
		switch f.outcome {
		case rateLimited:
			leave(f.after)
			if waits++; waits == maxWaits {
				return f
			}
		case transient:
			leave(max(f.after, backoff<<tries))
			if tries++; tries == maxTries {
				return f
			}
		default:
			leave(rest)
			return f
		}
	}
}

// once makes a call.
func (c caller) once(ctx context.Context, call func(context.Context) error) failure {
	inFlight, cancel := notify.WithGrace(ctx, c.grace)
	defer cancel()
	traced, mayHaveArrived := notify.Traced(inFlight)
	err := call(traced)
	return classify(ctx, err, mayHaveArrived())
}

// bodyOf returns what a plan of this package put into a message.
func bodyOf(m notify.Message) (body, failure) {
	b, ok := m.Body.(body)
	if !ok {
		return body{}, failure{outcome: refused, text: "the message was planned by another sender"}
	}
	return b, failure{}
}

// interval is Slack's rate limit: one message a second per channel. It is counted from
// the response to the last message, so that network jitter does not bring two messages
// closer together.
const interval = time.Second

// Clock is a sender's source of time.
type Clock struct {
	Now func() time.Time
	// Sleep waits, or returns an error if the context ends first.
	Sleep func(context.Context, time.Duration) error
}

// SystemClock is the clock of the machine.
func SystemClock() Clock { return Clock{Now: time.Now, Sleep: notify.Sleep} }

// pace limits the rate of each channel: one call at a time, and none before the channel
// is free. A channel that has to wait does not hold up others.
type pace struct {
	clock Clock
	mu    sync.Mutex
	lanes map[string]*lane
	ids   map[string]string // of channels, by name
}

type lane struct {
	lock chan struct{} // holds one value while the lane is unlocked
	free time.Time     // when the next call may start; guarded by pace.mu
}

// enter locks a lane and waits until it is free. leave unlocks it, and the lane rests for
// the time given.
func (p *pace) enter(ctx context.Context, channel string) (leave func(time.Duration), err error) {
	l := p.lane(channel)
	if err := ctx.Err(); err != nil {
		return nil, err // an unlocked lane would be as good
	}
	select {
	case <-l.lock:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for earlier messages: %w", ctx.Err())
	}
	leave = func(d time.Duration) {
		p.mu.Lock()
		p.rest(l, d)
		p.mu.Unlock()
		l.lock <- struct{}{}
	}
	for {
		p.mu.Lock()
		free := l.free
		p.mu.Unlock()
		wait := free.Sub(p.clock.Now())
		if wait <= 0 {
			return leave, nil
		}
		// Waiting beyond the deadline would only hold up the caller.
		if end, ok := ctx.Deadline(); ok && end.Before(free) {
			leave(0)
			return nil, fmt.Errorf("slack accepts nothing for %s, beyond the deadline: %w", wait.Round(time.Second), context.DeadlineExceeded)
		}
		if err := p.clock.Sleep(ctx, wait); err != nil {
			leave(0)
			return nil, fmt.Errorf("wait for slack: %w", err)
		}
	}
}

// rest keeps a lane from being free for a while. The caller holds p.mu.
func (p *pace) rest(l *lane, d time.Duration) {
	if free := p.clock.Now().Add(d); free.After(l.free) {
		l.free = free
	}
}

// known records the ID of a channel name, and lets the channel rest: Slack limits by
// channel, not by name.
func (p *pace) known(name, id string, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids == nil {
		p.ids = map[string]string{}
	}
	p.ids[name] = id
	p.rest(p.laneOf(id), d)
}

func (p *pace) lane(channel string) *lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id, ok := p.ids[channel]; ok {
		channel = id
	}
	return p.laneOf(channel)
}

// laneOf returns the lane of a channel ID. The caller holds p.mu.
func (p *pace) laneOf(channel string) *lane {
	l := p.lanes[channel]
	if l == nil {
		l = &lane{lock: make(chan struct{}, 1)}
		l.lock <- struct{}{}
		if p.lanes == nil {
			p.lanes = map[string]*lane{}
		}
		p.lanes[channel] = l
	}
	return l
}
