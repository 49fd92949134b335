package slack

import (
	"context"
	"net/http"
	"time"

	"github.com/eventuallytrue/audit/notify"
)

// Options are what senders need of the world.
type Options struct {
	Clock Clock // zero: that of the machine
	// Transport carries requests; nil: the default one, which takes its proxy
	// from the environment.
	Transport http.RoundTripper
}

// How patient a sender is with one message.
const (
	timeout  = 30 * time.Second // of one call
	maxTries = 3                // while Slack fails, or the way to it
	maxWaits = 20               // for Slack to take messages again
	backoff  = 2 * time.Second  // after the first failure, and twice that after each
)

// caller calls Slack at its pace, and again where a failure may pass. What Slack
// answered before the way to it broke nobody knows: such a message is sent again,
// for one that comes twice is better than none.
type caller struct {
	http *http.Client
	pace *pace
}

func newCaller(o Options) caller {
	if o.Clock.Now == nil {
		o.Clock = SystemClock()
	}
	return caller{
		pace: &pace{clock: o.Clock},
		http: &http.Client{
			Transport: o.Transport, Timeout: timeout,
			// A redirect would turn the post into a get of somewhere else, and its
			// answer into a success.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// try makes a call in a lane until it is answered for good, and leaves the lane
// for as long as a success asks for.
func (c caller) try(ctx context.Context, lane string, rest time.Duration, call func() error) failure {
	tries, waits := 0, 0
	for {
		leave, err := c.pace.enter(ctx, lane)
		if err != nil {
			return failure{outcome: ended, text: err.Error(), cause: err}
		}
		f := judge(ctx, call())
		switch f.outcome {
		case limited:
			leave(f.after)
			if waits++; waits == maxWaits {
				return f
			}
		case passing:
			leave(backoff << tries)
			if tries++; tries == maxTries {
				return f
			}
		default:
			leave(rest)
			return f
		}
	}
}

// bodyOf returns what a plan of this package put into a message.
func bodyOf(m notify.Message) (body, failure) {
	b, ok := m.Body.(body)
	if !ok {
		return body{}, failure{outcome: refused, text: "it is no message of this sender"}
	}
	return b, failure{}
}
