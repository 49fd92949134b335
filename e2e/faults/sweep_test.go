package faults

import (
	"context"
	"fmt"
	"sync/atomic"
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
	"github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Timeouts of sweeps with faults: for reading, for the whole sweep, and for a response of
// Slack.
const (
	readFor  = 2 * time.Second
	sweepFor = 5 * time.Second
	slackFor = time.Second
)

// settings returns the config of every sweep.
func settings() *config.Config {
	c := config.Default()
	c.Owners.Fallback = platform
	for _, name := range []string{team(0), team(1), team(2), platform} {
		c.Owners.Teams = append(c.Owners.Teams, config.Team{Name: name, Slack: config.TeamSlack{Channel: config.Channel(channel(name))}})
	}
	return &c
}

func (l *lab) newSource(t *testing.T, cfg *rest.Config) *source.Source {
	t.Helper()
	// Small pages, so that lists have several.
	s, err := source.New(cfg, source.Options{OwnerKeys: settings().Owners.Keys, PageSize: 3, Sleep: noSleep})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stage is the state that the sweeps of a run share.
type stage struct {
	*lab
	plan   *plan
	clock  *clock
	proxy  *kubetest.Proxy
	script *kubetest.Script
	slack  *fakeslack.Script
	board  *workspace
	act    int
	last   map[string]audit.Stored // the findings after the previous sweep
	// publishing is true when the sweep has finished reading.
	publishing atomic.Bool
}

// swept is the result of a sweep.
type swept struct {
	act           int
	clean         bool
	res           *audit.Result
	published     *audit.Published
	err           error
	before, after map[string]audit.Stored
	truths        []truth // of the worlds during the sweep, in order
	misled        bool    // see stage.misled
	unreleased    bool    // the lease could not be released
}

// sweep sweeps and publishes like the program.
func (s *stage) sweep(t *testing.T, turn *world) *swept {
	t.Helper()
	out := &swept{act: s.act, clean: s.act >= len(s.plan.Acts), before: s.last}
	out.truths = append(out.truths, s.observe(t))
	s.script.Begin(s.act)
	s.slack.Begin(s.act)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	reading := time.Minute
	if s.board.begin(s.act, 0); !out.clean {
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), sweepFor)
		reading = readFor
		s.board.begin(s.act, slackFor)
	}
	defer cancel()
	source := s.newSource(t, s.proxy.Config(kubetest.Admin))
	s.publishing.Store(false)
	lock := &leaseLock{s.newLease(t, out.clean), func() {
		s.publishing.Store(true)
		if turn != nil {
			s.setWorld(t, *turn)
			out.truths = append(out.truths, s.observe(t))
		}
	}, &out.unreleased}
	out.res, out.published, out.err = audit.SweepAndPublish(ctx, timed{source, reading},
		catalog.All(), settings(), s.clock.Now, s.publisher(t, source), lock)
	out.after = s.stored(t)
	s.last = out.after
	out.misled = s.misled()
	return out
}

func (s *stage) publisher(t *testing.T, source *source.Source) *audit.Publisher {
	t.Helper()
	findings, err := store.New(s.proxy.Config(kubetest.Admin), home, store.Options{PageSize: 3, Sleep: noSleep})
	if err != nil {
		t.Fatal(err)
	}
	bot := slack.NewBot(func() (notify.Secret, error) { return notify.NewSecret([]byte(token)) }, s.board.url,
		slack.Options{Transport: s.board, Clock: clockOf(newClock())})
	c := settings()
	return &audit.Publisher{
		Store: findings, Source: source, Fit: store.FitFinding,
		Reconciler: audit.Reconciler{
			Hold: func(string) audit.Hold { return audit.Hold{Sweeps: s.plan.Sweeps} },
			Keep: time.Duration(c.Findings.KeepResolved), MaxNew: int(c.Limits.NewFindings), MaxNotifications: store.MaxNotifications,
		},
		Notifier: func(res *audit.Result) audit.Notifier {
			router := &notify.Router{Config: c, Ownership: res.Ownership, Now: s.clock.Now(), HasSender: func(name string) bool { return name == notify.SlackName }}
			return notifier{notify.Deliverer{
				Store: findings, Senders: []notify.Sender{sender{bot, s.board}},
				Cluster: "lab", Publisher: fmt.Sprintf("sweep-%d", s.act), WithLease: true, Clock: s.clock.Now, Routes: router.Routes(),
			}}
		},
	}
}

func clockOf(c *clock) slack.Clock { return slack.Clock{Now: c.Now, Sleep: c.Sleep} }

// notifier is a notify.Deliverer as an audit.Notifier.
type notifier struct{ notify.Deliverer }

func (t notifier) Senders(rule, owner string) []string { return t.Routes.Senders(rule, owner) }

func (t notifier) Deliver(ctx context.Context, stored []audit.Stored) []audit.Delivery {
	return t.Deliverer.Deliver(ctx, stored)
}

// timed is a source with a timeout.
type timed struct {
	source audit.Source
	limit  time.Duration
}

func (s timed) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	return s.source.Read(ctx, kinds, b)
}

// newLease returns the lease. With faults it is short, so that it can be lost.
func (s *stage) newLease(t *testing.T, clean bool) *lease.Lease {
	t.Helper()
	opts := lease.Options{Duration: 2 * time.Second, Renew: time.Second, Retry: 50 * time.Millisecond}
	if clean {
		opts = lease.Options{}
	}
	cfg := s.proxy.Config(kubetest.Admin)
	if !clean {
		cfg.Timeout = opts.Renew / 2
	}
	lease, err := lease.New(cfg, home, home, opts)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

// leaseLock is the Lease as an audit.Lock.
type leaseLock struct {
	lease      *lease.Lease
	swept      func() // called between reading and publishing
	unreleased *bool
}

// Acquire implements audit.Lock.
func (l *leaseLock) Acquire(ctx context.Context, begin func()) (context.Context, func(), error) {
	l.swept()
	turn, err := l.lease.AcquireAfter(ctx, 300*time.Millisecond, begin)
	if err != nil {
		return nil, nil, err
	}
	return turn.Context(), func() { *l.unreleased = turn.Close() != nil }, nil
}
