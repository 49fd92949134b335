package notify

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Grace is how long a request that is under way may take after its context has ended.
// Aborting it would leave open whether the receiver has accepted the message.
const Grace = 10 * time.Second

// Sleep waits for d. If the context ends first, it returns the cause of that.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// WithGrace returns a context that ends d after ctx does.
func WithGrace(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if Sleep(longer, d) == nil {
			cancel()
		}
	})
	return longer, func() { stop(); cancel() }
}

// Traced returns a context for one HTTP request, and a function that reports whether the
// request may have reached the receiver. It has not if no connection could be made, or
// nothing was written to it. A transport that can't be traced counts as reached.
func Traced(ctx context.Context) (traced context.Context, mayHaveArrived func() bool) {
	var begun, written atomic.Bool
	traced = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { begun.Store(true) },
		WroteHeaders: func() { written.Store(true) },
	})
	return traced, func() bool { return written.Load() || !begun.Load() }
}
