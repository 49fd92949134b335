package drill

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules"
)

// replica is a publisher as the program wires one, but that it judges by the rule
// on hosts alone and counts what owners would be told.
type replica struct {
	name      string
	source    *kube.Source
	publisher *audit.Publisher
	lock      audit.Lock
	told      *deliveries
}

func newReplica(t *testing.T, cfg *rest.Config, name string, told *deliveries, lock audit.Lock) *replica {
	t.Helper()
	defaults := config.Default()
	source, err := kube.NewSource(cfg, kube.Options{OwnerKeys: defaults.Owners.Keys})
	if err != nil {
		t.Fatal(err)
	}
	store, err := kube.NewStore(cfg, home, kube.StoreOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &replica{name, source, &audit.Publisher{
		Store: telling{store, told}, Source: source, Fit: kube.FitFinding,
		Reconciliation: audit.Reconciliation{
			Hold: func(string) audit.Hold { return audit.Hold{} }, Keep: time.Hour, MaxNew: int(defaults.Limits.NewFindings),
		},
	}, lock, told}
}

// sweep sweeps and publishes, which must end well. It may be called beside the test.
func (r *replica) sweep(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c := config.Default()
	res, published, err := audit.SweepAndPublish(ctx, r.source, []*rules.Rule{rules.OneOwnerPerHost()}, &c, time.Now, r.publisher, r.lock)
	if published != nil {
		r.told.believe(published.Transitions)
	}
	switch {
	case err != nil:
		t.Errorf("%s: %v", r.name, err)
	case !res.Complete():
		t.Errorf("%s: the sweep is not complete", r.name)
	case len(published.Failed)+len(published.Newer) > 0:
		t.Errorf("%s: not written %q, left alone %q", r.name, published.Failed, published.Newer)
	}
}

// free is a lock that lets everybody in.
type free struct{}

func (free) Acquire(ctx context.Context) (context.Context, func(), error) { return ctx, func() {}, nil }

// turns is the Lease as a lock.
type turns struct {
	t     *testing.T
	lease *kube.Lease
}

// newTurns returns a lease that is asked for more often than usual, so that the
// drill is short.
func newTurns(t *testing.T, cfg *rest.Config, host string) turns {
	t.Helper()
	lease, err := kube.NewLease(cfg, home, home, kube.LeaseOptions{
		Host: host, Duration: 5 * time.Second, Renew: 4 * time.Second, Retry: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return turns{t, lease}
}

// Acquire implements audit.Lock.
func (l turns) Acquire(ctx context.Context) (context.Context, func(), error) {
	turn, err := l.lease.Acquire(ctx, 15*time.Second)
	if err != nil {
		return nil, nil, err
	}
	return turn.Held(), func() {
		if err := turn.Close(); err != nil {
			l.t.Error(err)
		}
	}, nil
}
