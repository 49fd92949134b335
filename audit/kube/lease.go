package kube

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// LeaseOptions tune a Lease. A field that is zero stands for its default.
type LeaseOptions struct {
	// UserAgent names the program in the API server's audit log.
	UserAgent string
	// Host begins the identity of a holder; "audit" by default.
	Host string
	// Random makes the rest of it; crypto/rand by default.
	Random io.Reader
	// Duration is how long a holder that says nothing any more is waited for,
	// Renew how long one tries in vain to say something before it takes its lease
	// for lost, Retry the time between two tries: 15, 10 and 2 seconds by
	// default. Duration is rounded up to a second and must be longer than Renew,
	// Renew longer than Retry.
	Duration, Renew, Retry time.Duration
	// Now is the clock; time.Now by default. Only differences count, but for
	// the times that are written for people.
	Now func() time.Time
	// Sleep waits between two tries, and returns early when the context ends. By
	// default it takes the time it is given.
	Sleep func(context.Context, time.Duration)
}

// Lease is the right to publish, of which one process at a time has a turn.
//
// It keeps the rules of client-go's leader election, and the two can share a
// Lease object, but not its code: that is made for processes that lead until
// they end. It runs what is guarded in a goroutine of its own and may release the
// lease while that still works; it neither gives up after a while nor names who
// was in the way; and it takes the same identity for every turn, so that two turns
// of one process would both have it.
//
// No lease is a fence. Its holder, or the machine it runs on, may be paused, and go
// on for a moment when somebody else has it already: what is guarded must be safe
// even so.
type Lease struct {
	leases leases
	name   string
	opts   LeaseOptions
	usage  *meter
}

// leases is what a Lease needs of a client.
type leases interface {
	Get(context.Context, string, metav1.GetOptions) (*coordinationv1.Lease, error)
	Create(context.Context, *coordinationv1.Lease, metav1.CreateOptions) (*coordinationv1.Lease, error)
	Update(context.Context, *coordinationv1.Lease, metav1.UpdateOptions) (*coordinationv1.Lease, error)
}

// NewLease returns the lease of a name and namespace, in the cluster that the
// config leads to. It connects to nothing yet. The config is not changed.
func NewLease(cfg *rest.Config, namespace, name string, opts LeaseOptions) (*Lease, error) {
	if namespace == "" || name == "" {
		return nil, errors.New("make lease: no namespace or no name is given")
	}
	opts.Host = cmp.Or(opts.Host, "audit")
	opts.Duration = cmp.Or(opts.Duration, 15*time.Second)
	opts.Renew = cmp.Or(opts.Renew, 10*time.Second)
	opts.Retry = cmp.Or(opts.Retry, 2*time.Second)
	if opts.Retry <= 0 || opts.Renew <= opts.Retry || opts.Duration <= opts.Renew {
		return nil, fmt.Errorf("make lease: of the times %s, %s and %s each must be longer than the next", opts.Duration, opts.Renew, opts.Retry)
	}
	if opts.Random == nil {
		opts.Random = rand.Reader
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	cfg = rest.CopyConfig(cfg)
	if opts.UserAgent != "" {
		cfg.UserAgent = opts.UserAgent
	}
	// A renewal must not wait for this program's other requests.
	cfg.QPS, cfg.RateLimiter = -1, nil
	cfg.WarningHandler = rest.NoWarnings{}
	usage := &meter{}
	cfg.Wrap(usage.watch)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make lease: %w", err)
	}
	return &Lease{leases: client.CoordinationV1().Leases(namespace), name: name, opts: opts, usage: usage}, nil
}

// identity returns a name for the holder of one turn, unlike any other: two
// holders of one name would take the lease from each other unnoticed.
func (l *Lease) identity() (string, error) {
	n, err := rand.Int(l.opts.Random, new(big.Int).Lsh(big.NewInt(1), 80))
	if err != nil {
		return "", fmt.Errorf("draw identity: %w", err)
	}
	return l.opts.Host + "_" + n.Text(36), nil
}

// spec is what a holder writes into the lease after what was in it.
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

// holder returns who has a lease, empty if nobody has.
func holder(spec *coordinationv1.LeaseSpec) string {
	if spec.HolderIdentity == nil {
		return ""
	}
	return *spec.HolderIdentity
}
