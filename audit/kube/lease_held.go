package kube

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
)

// ErrLeaseLost is what the cause wraps for which the context of a lease ends that was
// lost.
var ErrLeaseLost = errors.New("the lease is lost")

// errReleased is the cause for which the context of a lease ends that was closed.
var errReleased = errors.New("the lease is released")

// HeldLease is a lease that is held until it is closed or lost.
type HeldLease struct {
	lease    *Lease
	identity string
	held     context.Context
	end      context.CancelCauseFunc
	renewing chan struct{} // closed when nothing is renewed any more
	close    sync.Once
	closed   error

	// last is the lease as last written. It belongs to the goroutine that renews,
	// and then to Close.
	last *coordinationv1.Lease
}

// hold renews a lease that was taken by a request made at the given time.
func (l *Lease) hold(ctx context.Context, me string, last *coordinationv1.Lease, taken time.Time) *HeldLease {
	h := &HeldLease{lease: l, identity: me, last: last, renewing: make(chan struct{})}
	h.held, h.end = context.WithCancelCause(ctx)
	go h.renew(taken)
	return h
}

// Held returns a context that ends when the lease is lost, before anybody else can
// have it; then its cause wraps ErrLeaseLost. It ends with the context given to
// Acquire and with Close, too.
func (h *HeldLease) Held() context.Context { return h.held }

// Identity is the name under which the lease is held.
func (h *HeldLease) Identity() string { return h.identity }

// renew says every now and then that the lease is still held, and ends the context
// when that could not be said for too long, or is not so any more. The time counts
// from before the last request that went well: others count from after it.
func (h *HeldLease) renew(renewed time.Time) {
	defer close(h.renewing)
	opts := h.lease.opts
	// Another timer than the tries have, since a request may hang.
	var failed atomic.Pointer[error] // the last try, if it did
	deadline := time.AfterFunc(opts.Renew-opts.Now().Sub(renewed), func() {
		if err := failed.Load(); err != nil {
			h.end(fmt.Errorf("%w: it could not be renewed: %w", ErrLeaseLost, *err))
			return
		}
		h.end(fmt.Errorf("%w: it could not be renewed: %w", ErrLeaseLost, errNoAnswer))
	})
	defer deadline.Stop()
	for {
		opts.Sleep(h.held, opts.Retry)
		if h.held.Err() != nil {
			return
		}
		tried := opts.Now()
		err := h.write(h.held, func(last *coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
			return h.lease.spec(h.identity, last)
		})
		switch {
		case errors.Is(err, ErrLeaseLost):
			h.end(err)
			return
		case err != nil:
			failed.Store(&err)
			continue
		}
		failed.Store(nil)
		// A renewal that comes too late finds the context ended, and does not
		// bring it back.
		deadline.Reset(opts.Renew - opts.Now().Sub(tried))
	}
}

// write changes the lease. Where somebody else has changed it meanwhile but for its
// holder, it is changed after that. The error wraps ErrLeaseLost where somebody else
// has it, or nobody.
func (h *HeldLease) write(ctx context.Context, change func(*coordinationv1.LeaseSpec) coordinationv1.LeaseSpec) error {
	next := h.last.DeepCopy()
	next.Spec = change(&h.last.Spec)
	next, err := h.lease.leases.Update(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		if next, err = h.lease.leases.Get(ctx, h.lease.name, metav1.GetOptions{}); err == nil {
			if who := holder(&next.Spec); who != h.identity {
				return fmt.Errorf("%w: %q has it", ErrLeaseLost, who)
			}
			next.Spec = change(&next.Spec)
			next, err = h.lease.leases.Update(ctx, next, metav1.UpdateOptions{})
		}
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: it was deleted", ErrLeaseLost)
	}
	if err != nil {
		return &requestError{err}
	}
	h.last = next
	return nil
}

// Close ends the context and releases the lease, so that the next one need not
// wait for it to run out. What is guarded has to be finished by then. A lease that
// was lost is left alone. Close works after the context of Acquire has ended, takes
// no longer than a renewal may, and does nothing when called again.
func (h *HeldLease) Close() error {
	h.close.Do(func() {
		h.end(errReleased)
		<-h.renewing
		if errors.Is(context.Cause(h.held), ErrLeaseLost) {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.held), h.lease.opts.Renew)
		defer cancel()
		err := h.write(ctx, func(last *coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
			// As client-go releases one.
			nobody, second := "", int32(1)
			spec := h.lease.spec(h.identity, last)
			spec.HolderIdentity, spec.LeaseDurationSeconds = &nobody, &second
			return spec
		})
		if err != nil && !errors.Is(err, ErrLeaseLost) {
			h.closed = fmt.Errorf("release lease %q: %w", h.lease.name, err)
		}
	})
	return h.closed
}
