package faults

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
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
	readFor  = 5 * time.Second
	sweepFor = 10 * time.Second
	slackFor = time.Second
	slow     = 100 * time.Millisecond // of a Slack that is slow, for each response
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
	faulty *rest.Config // of requests that are disturbed
	script *kubetest.Script
	slack  *fakeslack.Script
	board  *workspace
	act    int
	last   map[string]audit.Stored // the findings after the previous sweep
	// publishing is true when the sweep has finished reading.
	publishing atomic.Bool
	gate       sync.RWMutex // held while the publisher is paused
	requests   atomic.Int64 // of the act
	writes     atomic.Int64
	ended      atomic.Bool // the publisher has got a signal
	signal     func()
	rival      *audit.Published // by the publisher that has taken over, if one has
}

// now is the publisher's clock.
func (s *stage) now() time.Time {
	if s.act < len(s.plan.Acts) {
		return s.clock.Now().Add(s.plan.Acts[s.act].Skew)
	}
	return s.clock.Now()
}

// decide is the kubetest.Decide of the publisher's requests.
func (s *stage) decide(t *testing.T) kubetest.Decide {
	return func(r *http.Request) kubetest.Answer {
		s.step()
		if s.act < len(s.plan.Acts) && r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/findings") {
			if n := s.plan.Acts[s.act].Pause; n > 0 && s.writes.Add(1) == int64(n) {
				s.takeOver(t)
			}
		}
		s.gate.RLock()
		defer s.gate.RUnlock()
		return s.script.Decide(r)
	}
}

// step counts a request, and sends the signal at its time.
func (s *stage) step() {
	n := s.requests.Add(1)
	if s.act < len(s.plan.Acts) && n == int64(s.plan.Acts[s.act].End) {
		s.ended.Store(true)
		s.signal()
	}
}

// takeOver lets another publisher take over the Lease and publish, while this one is paused.
func (s *stage) takeOver(t *testing.T) {
	s.gate.Lock()
	defer s.gate.Unlock()
	if _, err := s.cluster.freeLease(t.Context()); err != nil {
		t.Error(err)
		return
	}
	cfg := s.cluster.config()
	source := s.newSource(t, cfg)
	unreleased := false
	l, err := lease.New(cfg, home, home, lease.Options{})
	if err != nil {
		t.Error(err)
		return
	}
	p := s.publisher(t, source, cfg, fmt.Sprintf("rival-%d", s.act), s.clock.Now, rivalTransport{s.board})
	_, s.rival, err = audit.SweepAndPublish(t.Context(), source, catalog.All(), settings(), s.clock.Now, p, &leaseLock{l, func() {}, &unreleased})
	if err != nil {
		t.Errorf("the other publisher: %v", err)
	}
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
	most          int     // see plan.Most
	rival         *audit.Published
	ended         bool // by a signal, while no request went wrong
}

// sweep sweeps and publishes like the program.
func (s *stage) sweep(t *testing.T, turn *world) *swept {
	t.Helper()
	out := &swept{act: s.act, clean: s.act >= len(s.plan.Acts), before: s.last}
	out.truths = append(out.truths, s.observe(t))
	s.script.Begin(s.act)
	s.slack.Begin(s.act)
	s.requests.Store(0)
	s.writes.Store(0)
	s.ended.Store(false)
	s.signal, s.rival = func() {}, nil
	if clean := out.clean; !s.cluster.drop(dropped(s.plan, clean)) {
		t.Skip("only an API server in memory can drop fields")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	reading := time.Minute
	if s.board.begin(s.act, 0); !out.clean {
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), sweepFor)
		reading = readFor
		var pause time.Duration
		if s.plan.Acts[s.act].Slow {
			pause = cmp.Or(s.plan.slow, slow)
		}
		s.board.begin(s.act, slackFor+pause)
		s.board.slow(pause)
	}
	defer cancel()
	s.signal = cancel
	source := s.newSource(t, rest.CopyConfig(s.faulty))
	s.publishing.Store(false)
	lock := &leaseLock{s.newLease(t, out.clean), func() {
		s.publishing.Store(true)
		if turn != nil {
			s.setWorld(t, *turn)
			out.truths = append(out.truths, s.observe(t))
		}
	}, &out.unreleased}
	out.res, out.published, out.err = audit.SweepAndPublish(ctx, timed{source, reading},
		catalog.All(), settings(), s.now, s.publisher(t, source, s.faulty, fmt.Sprintf("sweep-%d", s.act), s.now, s.board), lock)
	s.board.slow(0)
	s.awaitRival()
	out.ended = s.ended.Load() && s.plan.Acts[s.act].calm()
	out.most, out.rival = s.plan.Most, s.rival
	out.after = s.stored(t)
	s.last = out.after
	out.misled = s.misled()
	return out
}

// awaitRival waits until the other publisher, which works while this one is paused, is done.
func (s *stage) awaitRival() {
	s.gate.Lock()
	defer s.gate.Unlock()
}

// dropped returns the fields that the API server drops.
func dropped(p *plan, clean bool) []string {
	if clean {
		return nil
	}
	return p.Drop
}

func (s *stage) publisher(t *testing.T, source *source.Source, cfg *rest.Config, name string, now func() time.Time, carry http.RoundTripper) *audit.Publisher {
	t.Helper()
	findings, err := store.New(rest.CopyConfig(cfg), home, store.Options{PageSize: 3, Sleep: noSleep})
	if err != nil {
		t.Fatal(err)
	}
	bot := slack.NewBot(func() (notify.Secret, error) { return notify.NewSecret([]byte(token)) }, s.board.url,
		slack.Options{Transport: carry, Clock: clockOf(newClock())})
	c := settings()
	return &audit.Publisher{
		Store: findings, Source: source, Fit: findings.Fit,
		Reconciler: audit.Reconciler{
			Hold: func(string) audit.Hold { return audit.Hold{Sweeps: s.plan.Sweeps} },
			Keep: time.Duration(c.Findings.KeepResolved), MaxNew: int(c.Limits.NewFindings), MaxNotifications: cmp.Or(s.plan.Most, store.MaxNotifications),
		},
		Notifier: func(res *audit.Result) audit.Notifier {
			router := &notify.Router{Config: c, Ownership: res.Ownership, Now: now(), HasSender: func(name string) bool { return name == notify.SlackName }}
			return notifier{notify.Deliverer{
				Store: findings, Senders: []notify.Sender{sender{bot, s.board}},
				Cluster: "lab", Publisher: name, WithLease: true, Clock: now, Routes: router.Routes(),
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
	cfg := rest.CopyConfig(s.faulty)
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
