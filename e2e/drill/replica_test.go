package drill

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/kube/lease"
	"github.com/eventuallytrue/audit/audit/kube/source"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
	rulehosts "github.com/eventuallytrue/audit/rules/hosts"
)

// replica is a publisher like that of the program, except that it only evaluates the
// rule one-owner-per-host, does not wait between messages, and counts notifications.
type replica struct {
	name       string
	config     config.Config
	source     *source.Source
	publisher  *audit.Publisher
	lock       audit.Lock
	deliveries *deliveries
}

func newReplica(t *testing.T, cfg *rest.Config, name string, sent *deliveries, lock audit.Lock) *replica {
	t.Helper()
	c := sent.slack.config(t)
	source, err := source.New(cfg, source.Options{OwnerKeys: c.Owners.Keys})
	if err != nil {
		t.Fatal(err)
	}
	findings, err := store.New(cfg, home, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, alone := lock.(noLock)
	deliverer := notify.Deliverer{
		Store: findings, Senders: []notify.Sender{sent.sender(name)}, Publisher: name, WithLease: !alone, Clock: sent.now, Patience: 10 * time.Second,
	}
	r := &replica{name: name, config: c, source: source, lock: lock, deliveries: sent}
	r.publisher = &audit.Publisher{
		Store: findings, Source: source, Fit: store.FitFinding,
		Notifier: func(res *audit.Result) audit.Notifier { return notifier{deliverer, &r.config, res} },
		Reconciler: audit.Reconciler{
			Hold: func(string) audit.Hold { return audit.Hold{} }, Keep: 1000 * time.Hour, MaxNew: int(c.Limits.NewFindings), MaxNotifications: store.MaxNotifications,
		},
	}
	return r
}

// notifier notifies owners after a sweep, as configured.
type notifier struct {
	notify.Deliverer
	config *config.Config
	res    *audit.Result
}

func (s notifier) routes() notify.Routes {
	router := notify.Router{
		Config: s.config, Ownership: s.res.Ownership, Now: s.Clock(), HasSender: func(name string) bool { return name == notify.SlackName },
	}
	return router.Routes()
}

// Senders implements audit.Notifier.
func (s notifier) Senders(rule, owner string) []string { return s.routes().Senders(rule, owner) }

// Deliver implements audit.Notifier.
func (s notifier) Deliver(ctx context.Context, stored []audit.Stored) []audit.Delivery {
	s.Routes = s.routes()
	return s.Deliverer.Deliver(ctx, stored)
}

// sweep sweeps, publishes and notifies owners, which must succeed. It may be called
// from other goroutines than the test's.
func (r *replica) sweep(t *testing.T) {
	for _, d := range audit.Undelivered(r.try(t)) {
		t.Errorf("%s: delivery to %s: %s: %s", r.name, d.Owner, d.Result, d.Reason)
	}
}

// try is like sweep, but Slack may fail. It returns the deliveries.
func (r *replica) try(t *testing.T) []audit.Delivery {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, published, err := audit.SweepAndPublish(ctx, r.source, []*rules.Rule{rulehosts.Rule()}, &r.config, r.deliveries.now, r.publisher, r.lock)
	if published == nil {
		published = &audit.Published{}
	}
	r.deliveries.addReported(published.Transitions)
	switch {
	case err != nil:
		t.Errorf("%s: %v", r.name, err)
	case !res.Complete():
		t.Errorf("%s: the sweep is not complete", r.name)
	case len(published.Failed)+len(published.Newer) > 0:
		t.Errorf("%s: not written %q, of a newer version %q", r.name, published.Failed, published.Newer)
	}
	return published.Deliveries
}

// noLock is a lock that everyone can acquire.
type noLock struct{}

func (noLock) Acquire(ctx context.Context, _ func()) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

// leaseLock is the Lease as an audit.Lock.
type leaseLock struct {
	t     *testing.T
	lease *lease.Lease
}

// newLeaseLock returns a lease with short retries, so that the drill is short.
func newLeaseLock(t *testing.T, cfg *rest.Config, host string) leaseLock {
	t.Helper()
	lease, err := lease.New(cfg, home, home, lease.Options{
		Host: host, Duration: 30 * time.Second, Renew: 25 * time.Second, Retry: 100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return leaseLock{t, lease}
}

// Acquire implements audit.Lock.
func (l leaseLock) Acquire(ctx context.Context, begin func()) (context.Context, func(), error) {
	turn, err := l.lease.AcquireAfter(ctx, 45*time.Second, begin)
	if err != nil {
		return nil, nil, err
	}
	return turn.Context(), func() {
		if err := turn.Close(); err != nil {
			l.t.Error(err)
		}
	}, nil
}

// build builds the program once per cluster and returns its path.
func build(t *testing.T, c site) string {
	t.Helper()
	path := filepath.Join(c.Dir, "audit")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../cmd/audit").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// process is a run of the program. code is its exit code once it has ended.
type process struct {
	cmd         *exec.Cmd
	out, errors bytes.Buffer
	code        int
}

// start starts a publishing sweep, which is killed after a minute.
func start(t *testing.T, binary, kubeconfig string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	p := &process{cmd: exec.CommandContext(ctx, binary, append(args, "--once", "--publish", "--kubeconfig", kubeconfig)...)}
	p.cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errors
	if err := p.cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); p.end() })
	return p
}

// end waits until the process has ended.
func (p *process) end() *process {
	// A second call returns an error, but the exit code is still there.
	_ = p.cmd.Wait()
	p.code = p.cmd.ProcessState.ExitCode()
	return p
}

// publish runs a publishing sweep, which must succeed.
func publish(t *testing.T, c site, binary string, args ...string) {
	t.Helper()
	args = append(args, "--findings-namespace", c.namespace)
	if p := start(t, binary, c.Kubeconfig(kubetest.Guest), args...).end(); p.code != 0 || p.errors.Len() > 0 {
		t.Fatalf("publish: exit %d: %s\n%s", p.code, &p.errors, &p.out)
	}
}

func writes(r *http.Request) bool {
	return slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}, r.Method)
}
