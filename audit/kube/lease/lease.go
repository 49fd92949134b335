// Package lease holds the Lease that at most one publisher has at a time.
package lease

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"reflect"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/kube"
)

// Options configure a Lease. A zero field means its default.
type Options struct {
	// UserAgent identifies the program in the API server's audit log.
	UserAgent string
	// Host is the first part of a holder's identity; "audit" by default.
	Host string
	// Random makes the rest of the identity; crypto/rand by default.
	Random io.Reader
	// Duration is how long others wait for a holder that no longer renews the lease;
	// 15 seconds by default. It is rounded up to a second and must be longer than Renew.
	Duration time.Duration
	// Renew is how long a holder tries to renew the lease before it considers it lost;
	// 10 seconds by default. It must be longer than Retry.
	Renew time.Duration
	// Retry is the time between two tries; 2 seconds by default.
	Retry time.Duration
	// Note returns what the holder leaves on the Lease, each time that it writes it; nil:
	// nothing.
	Note func() Note
	// Now is the clock; time.Now by default. Only differences matter, except for the
	// times that are written for people.
	Now func() time.Time
	// Sleep waits between two tries, and returns early when the context ends. The
	// default is kube.Sleep.
	Sleep func(context.Context, time.Duration)
}

// Lease is the right to publish, which one process at a time can hold.
//
// It follows the rules of client-go's leader election, and the two can share a Lease
// object, but it does not use that code, which is made for processes that lead until
// they end. That code runs the guarded work in a goroutine of its own and may release
// the lease while the work still runs; it does not give up after a while or name the
// holder; and it reuses one identity, so that two uses in one process would both hold
// the lease.
//
// A lease is not a fence. Its holder, or its machine, may be paused and continue for a
// moment after another holder has taken over: the guarded work must be safe even then.
type Lease struct {
	client          *kube.Client
	leases          coordinationclient.LeaseInterface
	namespace, name string
	opts            Options
}

// New returns the lease of a name and namespace, in the cluster that the config points
// to. It does not connect yet. The config is not changed.
func New(cfg *rest.Config, namespace, name string, opts Options) (*Lease, error) {
	if namespace == "" || name == "" {
		return nil, errors.New("make lease: the namespace or the name is empty")
	}
	opts.Host = cmp.Or(opts.Host, "audit")
	opts.Duration = cmp.Or(opts.Duration, 15*time.Second)
	opts.Renew = cmp.Or(opts.Renew, 10*time.Second)
	opts.Retry = cmp.Or(opts.Retry, 2*time.Second)
	if opts.Retry <= 0 || opts.Renew <= opts.Retry || opts.Duration <= opts.Renew {
		return nil, fmt.Errorf("make lease: the lease duration %s must be longer than the renew deadline %s, and that longer than the retry period %s",
			opts.Duration, opts.Renew, opts.Retry)
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Sleep == nil {
		opts.Sleep = kube.Sleep
	}
	client, err := kube.NewClient(cfg, kube.Options{UserAgent: opts.UserAgent})
	if err != nil {
		return nil, fmt.Errorf("make lease: %w", err)
	}
	return &Lease{client: client, leases: client.Clientset().CoordinationV1().Leases(namespace), namespace: namespace, name: name, opts: opts}, nil
}

// Usage returns what the lease has requested since it was made. It counts no retries:
// to request a lease repeatedly is how a lease works.
func (l *Lease) Usage() kube.Usage { return l.client.Usage() }

// identity returns a unique name for one holder: two holders of one name would take the
// lease from each other without noticing.
func (l *Lease) identity() (string, error) {
	n, err := rand.Int(l.opts.Random, new(big.Int).Lsh(big.NewInt(1), 80))
	if err != nil {
		return "", fmt.Errorf("make identity: %w", err)
	}
	return l.opts.Host + "_" + n.Text(36), nil
}

// spec is what a holder writes into a lease that had the old spec.
func (l *Lease) spec(me string, old *coordinationv1.LeaseSpec) coordinationv1.LeaseSpec {
	now := metav1.NewMicroTime(l.opts.Now())
	seconds := int32((l.opts.Duration + time.Second - 1) / time.Second)
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: &me, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now, LeaseTransitions: new(int32),
	}
	if old == nil {
		return spec
	}
	if old.LeaseTransitions != nil {
		*spec.LeaseTransitions = *old.LeaseTransitions
	}
	if holder(old) != me {
		*spec.LeaseTransitions++
	} else if old.AcquireTime != nil {
		spec.AcquireTime = old.AcquireTime
	}
	return spec
}

// holder returns the holder of a lease, empty if there is none.
func holder(spec *coordinationv1.LeaseSpec) string {
	if spec.HolderIdentity == nil {
		return ""
	}
	return *spec.HolderIdentity
}

// HeldError says that another holder kept the lease for as long as the caller was
// ready to wait.
type HeldError struct {
	Lease  string
	Holder string
	Waited time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lease %q is held by %q: gave up after waiting %s", e.Lease, e.Holder, e.Waited)
}

// Acquire waits for the lease, but no longer than given. The error is a *HeldError if
// another holder still has it. The caller must close what Acquire returns.
func (l *Lease) Acquire(ctx context.Context, waitAtMost time.Duration) (*Held, error) {
	return l.AcquireAfter(ctx, waitAtMost, func() {})
}

// AcquireAfter is Acquire that calls a function each time it is about to take the
// lease: it has then seen the lease free, or its holder gone. If that try succeeds, the
// lease had no other holder since the call.
func (l *Lease) AcquireAfter(ctx context.Context, waitAtMost time.Duration, begin func()) (*Held, error) {
	me, err := l.identity()
	if err != nil {
		return nil, fmt.Errorf("acquire lease %q: %w", l.name, err)
	}
	ctx = kube.Quiet(ctx)
	// A server that hangs must not extend the wait.
	tries, cancel := context.WithTimeoutCause(ctx, waitAtMost+l.opts.Renew, errNoResponse)
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
			return nil, fmt.Errorf("acquire lease %q: %w", l.name, &kube.RequestError{Err: err})
		case left <= 0:
			return nil, &HeldError{Lease: l.name, Holder: holder(&seen.spec), Waited: waitAtMost}
		case apierrors.IsNotFound(err): // a Lease that is not there is created, so it is the namespace
			return nil, fmt.Errorf("acquire lease %q: %w: create the namespace, as the chart does: %s", l.name, &kube.RequestError{Err: err}, kube.Install(l.namespace))
		case err != nil && !kube.Transient(err):
			return nil, fmt.Errorf("acquire lease %q: %w", l.name, &kube.RequestError{Err: err})
		}
		l.opts.Sleep(tries, min(left, l.opts.Retry))
	}
}

var errNoResponse = errors.New("the server does not respond")

// observation is the last spec seen in a lease, and since when. A holder counts as
// gone when this process has seen no change for long enough, since the clocks of the
// two need not agree.
type observation struct {
	spec  coordinationv1.LeaseSpec
	since time.Time
}

// over reports whether a lease with this spec may be taken now.
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

// try takes the lease if it is available now. It returns neither a lease nor an error
// if another holder has it, which it remembers.
func (l *Lease) try(ctx context.Context, me string, seen *observation, begin func()) (*coordinationv1.Lease, error) {
	lease, err := l.leases.Get(ctx, l.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		begin()
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name}, Spec: l.spec(me, nil)}
		l.annotate(lease, me)
		lease, err = l.leases.Create(ctx, lease, metav1.CreateOptions{})
	case err != nil:
		return nil, err
	// The holder has this name if the response to an earlier try was lost.
	case seen.over(&lease.Spec, l.opts.Now(), l.opts.Duration) || holder(&lease.Spec) == me:
		begin()
		lease.Spec = l.spec(me, &lease.Spec)
		l.annotate(lease, me)
		lease, err = l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	default:
		return nil, nil
	}
	if err == nil {
		return lease, nil
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		// Another process was faster.
		if lease, err = l.leases.Get(ctx, l.name, metav1.GetOptions{}); err == nil {
			seen.over(&lease.Spec, l.opts.Now(), l.opts.Duration)
			return nil, nil
		}
	}
	return nil, err
}
