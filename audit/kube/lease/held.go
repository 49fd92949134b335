package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/audit/kube"
)

// ErrLost is wrapped by the cause of a context that ends because its lease is lost.
var ErrLost = errors.New("the lease was lost")

// errReleased is the cause of a context that ends because its lease was closed.
var errReleased = errors.New("the lease was released")

// Held is a lease that is held until it is closed or lost.
type Held struct {
	lease    *Lease
	identity string
	held     context.Context
	end      context.CancelCauseFunc
	// kept outlasts held: after a signal the guarded work still finishes what is under
	// way, and no other holder must begin meanwhile.
	kept     context.Context
	drop     context.CancelCauseFunc
	renewing chan struct{} // closed when renewing has ended
	close    sync.Once
	closed   error
	history  atomic.Pointer[History] // as last written

	// last is the lease as last written. It belongs to the goroutine that renews,
	// and then to Close.
	last *coordinationv1.Lease
}

// hold renews a lease that was taken by a request sent at the given time.
func (l *Lease) hold(ctx context.Context, me string, last *coordinationv1.Lease, taken time.Time) *Held {
	h := &Held{lease: l, identity: me, renewing: make(chan struct{})}
	h.wrote(last)
	h.held, h.end = context.WithCancelCause(ctx)
	h.kept, h.drop = context.WithCancelCause(context.WithoutCancel(ctx))
	go h.renew(taken)
	return h
}

// Context returns a context that ends when the lease is lost, before another holder can
// take it; then its cause wraps ErrLost. It also ends with the context given to Acquire,
// after which the lease is renewed until Close, and with Close.
func (h *Held) Context() context.Context { return h.held }

// Identity returns the name under which the lease is held.
func (h *Held) Identity() string { return h.identity }

// History returns what the Lease says of its holders, as last written.
func (h *Held) History() History { return *h.history.Load() }

func (h *Held) wrote(last *coordinationv1.Lease) {
	history := historyOf(last)
	h.last = last
	h.history.Store(&history)
}

// lose ends everything because the lease is lost.
func (h *Held) lose(err error) {
	h.end(err)
	h.drop(err)
}

// renew renews the lease periodically until it is closed, and ends the context when that
// has failed for too long or another holder has the lease. The time counts from before
// the last successful request: other processes count from after it.
func (h *Held) renew(renewed time.Time) {
	defer close(h.renewing)
	opts := h.lease.opts
	// A timer of its own, since a request may hang.
	var failed atomic.Pointer[error] // the error of the last try, if it failed
	deadline := time.AfterFunc(opts.Renew-opts.Now().Sub(renewed), func() {
		if err := failed.Load(); err != nil {
			h.lose(fmt.Errorf("%w: renewing it failed: %w", ErrLost, *err))
			return
		}
		h.lose(fmt.Errorf("%w: renewing it failed: %w", ErrLost, errNoResponse))
	})
	defer deadline.Stop()
	for {
		opts.Sleep(h.kept, opts.Retry)
		if h.kept.Err() != nil {
			return
		}
		tried := opts.Now()
		err := h.write(h.kept, func(last *coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
			return h.lease.spec(h.identity, last)
		})
		switch {
		case errors.Is(err, ErrLost):
			h.lose(err)
			return
		case err != nil:
			failed.Store(&err)
			continue
		}
		failed.Store(nil)
		// A renewal that comes too late does not revive the context, which has
		// ended.
		deadline.Reset(opts.Renew - opts.Now().Sub(tried))
	}
}

// write changes the lease. If someone else changed it meanwhile, but not its holder, the
// change is applied to that version. The error wraps ErrLost if the lease has another
// holder or none.
func (h *Held) write(ctx context.Context, change func(*coordinationv1.LeaseSpec) coordinationv1.LeaseSpec) error {
	next := h.last.DeepCopy()
	next.Spec = change(&h.last.Spec)
	h.lease.annotate(next, h.identity)
	next, err := h.lease.leases.Update(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		if next, err = h.lease.leases.Get(ctx, h.lease.name, metav1.GetOptions{}); err == nil {
			if who := holder(&next.Spec); who != h.identity {
				return fmt.Errorf("%w: it is held by %q", ErrLost, who)
			}
			next.Spec = change(&next.Spec)
			h.lease.annotate(next, h.identity)
			next, err = h.lease.leases.Update(ctx, next, metav1.UpdateOptions{})
		}
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: it was deleted", ErrLost)
	}
	if err != nil {
		return &kube.RequestError{Err: err}
	}
	h.wrote(next)
	return nil
}

// Close ends the context and releases the lease, so that the next holder need not wait
// until it expires. The guarded work must be finished by then. A lease that was lost is
// left alone. Close works after the context of Acquire has ended, takes no longer than a
// renewal may, and does nothing when called again.
func (h *Held) Close() error {
	h.close.Do(func() {
		h.end(errReleased)
		h.drop(errReleased)
		<-h.renewing
		if errors.Is(context.Cause(h.kept), ErrLost) {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.held), h.lease.opts.Renew)
		defer cancel()
		err := h.write(ctx, func(last *coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
			// This is how client-go releases one.
			nobody, second := "", int32(1)
			spec := h.lease.spec(h.identity, last)
			spec.HolderIdentity, spec.LeaseDurationSeconds = &nobody, &second
			return spec
		})
		if err != nil && !errors.Is(err, ErrLost) {
			h.closed = fmt.Errorf("release lease %q: %w", h.lease.name, err)
		}
	})
	return h.closed
}
