package kube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// HeldError says that somebody else had the lease for as long as one was ready to
// wait.
type HeldError struct {
	Lease  string
	Holder string
	Waited time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lease %q is held by %q: waited %s for it", e.Lease, e.Holder, e.Waited)
}

// Acquire waits for the lease, but no longer than given, and returns it held. The
// error is a *HeldError if somebody else has it still. What is held has to be
// closed.
func (l *Lease) Acquire(ctx context.Context, waitAtMost time.Duration) (*HeldLease, error) {
	return l.AcquireAfter(ctx, waitAtMost, func() {})
}

// AcquireAfter is Acquire that calls a function each time it is about to take the
// lease: then it has seen the lease free, or its holder gone. If it gets it by that
// try, nobody else had it since.
func (l *Lease) AcquireAfter(ctx context.Context, waitAtMost time.Duration, begin func()) (*HeldLease, error) {
	me, err := l.identity()
	if err != nil {
		return nil, fmt.Errorf("acquire lease %q: %w", l.name, err)
	}
	// The client logs what it also returns as an error.
	ctx = klog.NewContext(ctx, klog.Logger{})
	// A server that hangs must not make it longer.
	tries, cancel := context.WithTimeoutCause(ctx, waitAtMost+l.opts.Renew, errNoAnswer)
	defer cancel()
	var seen observation
	began := l.opts.Now()
	for {
		tried := l.opts.Now()
		lease, err := l.try(tries, me, &seen, begin)
		if lease != nil {
			return l.hold(ctx, me, lease, tried), nil
		}
		if tries.Err() != nil {
			return nil, fmt.Errorf("acquire lease %q: %w", l.name, context.Cause(tries))
		}
		// The last try is made when the time is up, not long before.
		left := waitAtMost - l.opts.Now().Sub(began)
		switch {
		case left <= 0 && err != nil:
			return nil, fmt.Errorf("acquire lease %q: %w", l.name, &requestError{err})
		case left <= 0:
			return nil, &HeldError{Lease: l.name, Holder: holder(&seen.spec), Waited: waitAtMost}
		case err != nil && !transient(err):
			return nil, fmt.Errorf("acquire lease %q: %w", l.name, &requestError{err})
		}
		l.opts.Sleep(tries, min(left, l.opts.Retry))
	}
}

var errNoAnswer = errors.New("the server does not answer")

// observation is what was last seen in a lease, and since when. Whether a holder is
// gone is told by how long one has seen no change oneself, since its clock and one's
// own need not agree.
type observation struct {
	spec  coordinationv1.LeaseSpec
	since time.Time
}

// over reports whether the lease that is seen now may be taken.
func (o *observation) over(spec *coordinationv1.LeaseSpec, now time.Time, own time.Duration) bool {
	if holder(spec) == "" {
		return true
	}
	if o.since.IsZero() || !reflect.DeepEqual(o.spec, *spec) {
		o.spec, o.since = *spec, now
	}
	lasts := own
	if spec.LeaseDurationSeconds != nil {
		lasts = time.Duration(*spec.LeaseDurationSeconds) * time.Second
	}
	return now.Sub(o.since) >= lasts
}

// try takes the lease if it can be had now. It returns neither lease nor error if
// somebody else has it, and remembers who.
func (l *Lease) try(ctx context.Context, me string, seen *observation, begin func()) (*coordinationv1.Lease, error) {
	lease, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		begin()
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name}, Spec: l.spec(me, nil)}
		lease, err = l.leases.Create(ctx, lease, metav1.CreateOptions{})
	case err != nil:
		return nil, err
	// A holder of this name is oneself, when the answer to an earlier try got lost.
	case seen.over(&lease.Spec, l.opts.Now(), l.opts.Duration) || holder(&lease.Spec) == me:
		begin()
		lease.Spec = l.spec(me, &lease.Spec)
		lease, err = l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	default:
		return nil, nil
	}
	if err == nil {
		return lease, nil
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		// Somebody was faster.
		if lease, err = l.leases.Get(ctx, l.name, metav1.GetOptions{}); err == nil {
			seen.over(&lease.Spec, l.opts.Now(), l.opts.Duration)
			return nil, nil
		}
	}
	return nil, err
}
