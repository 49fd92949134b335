package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/lease"
)

// leaseName is the Lease that publishers compete for.
const leaseName = "audit"

// leaseOptions are the flags of leader election.
type leaseOptions struct {
	elect                  bool
	wait                   time.Duration
	duration, renew, retry time.Duration
}

func (l *leaseOptions) addFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&l.wait, "lease-wait", time.Minute, "With --once --publish: maximum time to wait while another process publishes")
	flags.BoolVar(&l.elect, "leader-elect", true,
		"With --publish: use leader election. With --once, a sweep waits for the lease before it writes; otherwise replicas stand by until they lead")
	// The defaults are those of kube-controller-manager and rarely need to change.
	flags.DurationVar(&l.duration, "leader-elect-lease-duration", 15*time.Second, "Time after which a lease that is not renewed expires")
	flags.DurationVar(&l.renew, "leader-elect-renew-deadline", 10*time.Second, "Time after which a leader that cannot renew its lease stops leading")
	flags.DurationVar(&l.retry, "leader-elect-retry-period", 2*time.Second, "Time between two attempts to acquire or renew the lease")
	for _, name := range []string{"leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period"} {
		flags.Lookup(name).Hidden = true
	}
}

// leaseLock is a publisher's lock: the Lease in the namespace of the findings.
type leaseLock struct {
	lease *lease.Lease
	wait  time.Duration
	probe *probe // of the API server that has the lease
	// last is the lease as this process last had it; nil: never.
	last atomic.Pointer[lease.Held]
	// failed is called with the error of a lease that could not be released. The next
	// publisher waits until that lease expires.
	failed func(error)
}

// noLock is the lock of a publisher without leader election.
type noLock struct{}

// Acquire implements audit.Lock.
func (noLock) Acquire(ctx context.Context, _ func()) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

// open returns the lock on the Lease of a namespace.
func (l *leaseOptions) open(cfg *rest.Config, namespace string, note func() lease.Note, failed func(error)) (*leaseLock, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "audit"
	}
	probe := &probe{}
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(probe.watch)
	// A request that hangs must leave time for another before the deadline, and must
	// not hold up a process on standby.
	cfg.Timeout = l.renew / 2
	opened, err := lease.New(cfg, namespace, leaseName, lease.Options{
		UserAgent: userAgent(), Host: host, Duration: l.duration, Renew: l.renew, Retry: l.retry, Note: note,
	})
	if err != nil {
		return nil, err
	}
	return &leaseLock{lease: opened, wait: l.wait, probe: probe, failed: failed}, nil
}

// Acquire implements audit.Lock.
func (l *leaseLock) Acquire(ctx context.Context, begin func()) (context.Context, func(), error) {
	return l.held(l.lease.AcquireAfter(ctx, l.wait, begin))
}

// acquireWithin is Acquire with a limit of its own.
func (l *leaseLock) acquireWithin(ctx context.Context, wait time.Duration) (context.Context, func(), error) {
	return l.held(l.lease.Acquire(ctx, wait))
}

func (l *leaseLock) held(held *lease.Held, err error) (context.Context, func(), error) {
	if err != nil {
		return nil, nil, err
	}
	l.last.Store(held)
	return held.Context(), func() {
		if err := held.Close(); err != nil {
			l.failed(err)
		}
	}, nil
}

// history returns what the lease says of its holders, as far as this process knows.
func (l *leaseLock) history() lease.History {
	if l == nil {
		return lease.History{}
	}
	if held := l.last.Load(); held != nil {
		return held.History()
	}
	return lease.History{}
}

// contested says that publishers with different configs hold the lease in turn. Each
// decides otherwise on the findings, and tells owners so.
func (l *leaseLock) contested(now time.Time) []audit.Failure {
	mine, other, ok := l.history().Contest(now)
	if !ok {
		return nil
	}
	return []audit.Failure{{
		Stage: audit.StagePublish, Where: "configs",
		Reason: fmt.Sprintf("two different configs are in use in turn: %s by %s since %s, and %s by %s before. Each undoes what the other decided: use one config, or a --findings-namespace for each",
			mine.Config, mine.Holder, mine.Since.Format(time.RFC3339), other.Config, other.Holder),
	}}
}

// probe remembers whether the last request reached the API server. A process on
// standby requests nothing but the Lease, so that is all it knows; the lease itself
// only reports when it is lost.
type probe struct {
	mu   sync.Mutex
	last error
}

// watch returns a transport that remembers how its requests end.
func (p *probe) watch(next http.RoundTripper) http.RoundTripper { return watched{p, next} }

// failure returns why the last request did not reach the API server, nil if it did.
func (p *probe) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *probe) remember(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = err
}

// errUnreachable has no details, since every client of the health endpoint can read it.
var errUnreachable = errors.New("the API server is unreachable")

type watched struct {
	probe *probe
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(r)
	switch {
	case err != nil:
		w.probe.remember(errUnreachable)
	case resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests:
		w.probe.remember(fmt.Errorf("the API server returned status %d", resp.StatusCode))
	default:
		w.probe.remember(nil)
	}
	return resp, err
}
