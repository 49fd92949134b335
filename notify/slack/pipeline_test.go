package slack_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// pipeline is everything between the evaluation of a sweep and the messages in a channel:
// reconciliation, routing, delivery, and a Slack with its real limits. It runs in a bubble
// of testing/synctest.
type pipeline struct {
	t          *testing.T
	store      expiring
	slack      *fakeslack.Server
	wire       *wire
	by         *sender.Bot
	config     string
	ownership  []audit.NamespaceOwner
	violations map[string]audit.Finding // by ID
	maxNew     int
	mute       map[string]bool // owners who were not notified for some time
	within     time.Duration   // of each delivery; zero: no limit
}

// expiring is a store whose writes fail once the context has ended, as with an API server.
type expiring struct {
	*fakeStore
	latency time.Duration // of a write
}

func (h expiring) Update(ctx context.Context, s audit.Stored) (audit.Stored, error) {
	time.Sleep(h.latency)
	if err := ctx.Err(); err != nil {
		return audit.Stored{}, err
	}
	return h.fakeStore.Update(ctx, s)
}

// link runs a test in a bubble with a workspace.
func link(t *testing.T, c fakeslack.Config, cfg string, test func(*testing.T, *pipeline)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.Token, c.Allowed = token, append(c.Allowed, mention)
		slackd := fakeslack.New(c)
		w, carrier := newWire(t, slackd)
		test(t, &pipeline{
			t: t, store: expiring{fakeStore: &fakeStore{held: map[string]audit.Stored{}}}, slack: slackd, wire: w, config: cfg,
			by:         sender.NewBot(secret(token), "http://slack/api/", sender.Options{Transport: carrier}),
			violations: map[string]audit.Finding{}, mute: map[string]bool{},
		})
	})
}

// add adds a violation.
func (c *pipeline) add(r audit.Record) audit.Finding {
	r.OpenedAt = time.Time{}
	c.violations[r.ID] = r.Finding
	return r.Finding
}

func (c *pipeline) routes() notify.Routes {
	c.t.Helper()
	cfg, err := config.Parse([]byte(c.config), "test", catalog.All())
	if err != nil {
		c.t.Fatal(err)
	}
	r := &notify.Router{
		Config: &cfg, Ownership: c.ownership, Now: time.Now(),
		HasSender: func(name string) bool { return name == notify.SlackName },
	}
	return r.Routes()
}

// sweep reconciles and delivers, and returns the deliveries by result, each as owner and
// reason.
func (c *pipeline) sweep() map[audit.DeliveryResult][]string {
	c.t.Helper()
	routes := c.routes()
	stored, _, _ := c.store.Load(c.t.Context())
	records := make([]audit.Record, len(stored))
	held := map[string]audit.Stored{}
	for i, s := range stored {
		records[i], held[s.ID] = s.Record, s
	}
	ev := &audit.Evaluation{}
	for _, r := range catalog.All() {
		ev.Rules = append(ev.Rules, audit.Outcome{Rule: r.Name, Status: audit.RuleRan})
	}
	for _, id := range slices.Sorted(maps.Keys(c.violations)) {
		ev.Findings = append(ev.Findings, c.violations[id])
	}
	r := audit.Reconciler{
		Now: time.Now(), Keep: 720 * time.Hour, MaxNew: c.maxNew, MaxNotifications: 40,
		Hold: func(string) audit.Hold { return audit.Hold{} }, Senders: routes.Senders,
	}
	for _, tr := range r.Reconcile(records, ev) {
		if !tr.Write {
			continue
		}
		s := held[tr.Record.ID]
		s.Record = tr.Record
		if _, err := c.store.fakeStore.Update(c.t.Context(), s); err != nil {
			c.t.Fatal(err)
		}
	}
	stored, _, _ = c.store.Load(c.t.Context())
	d := &notify.Deliverer{
		Store: c.store, Senders: []notify.Sender{c.by}, Routes: routes, Cluster: "prod-eu-1", Namespace: "audit", Publisher: "me", WithLease: true,
		RemindAfter: 24 * time.Hour, Clock: time.Now,
	}
	ctx := c.t.Context()
	if c.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.within)
		defer cancel()
	}
	out := map[audit.DeliveryResult][]string{}
	for _, done := range d.Deliver(ctx, stored) {
		out[done.Result] = append(out[done.Result], strings.TrimSpace(done.Owner+" "+done.Reason))
	}
	return out
}

// all fails the test unless a sweep sent that many digests and nothing else.
func (c *pipeline) all(got map[audit.DeliveryResult][]string, sent int) {
	c.t.Helper()
	if len(got[audit.DeliverySent]) != sent || len(got) > 1 {
		for result, list := range got {
			c.t.Logf("%s: %d, the first: %s", result, len(list), list[0])
		}
		c.t.Fatalf("%d digests were sent of %d", len(got[audit.DeliverySent]), sent)
	}
}

// settled fails the test if anything is still pending or claimed, if one more sweep makes a
// call or a write, or if Slack rejected anything or a message was close to a limit.
func (c *pipeline) settled() {
	c.t.Helper()
	for id, s := range c.store.held {
		for _, m := range s.Notifications {
			if m.Pending != "" || m.Claim != (audit.Claim{}) {
				c.t.Fatalf("%s still has %+v", id, m)
			}
		}
	}
	calls, writes := len(c.slack.Requests()), c.store.count
	c.all(c.sweep(), 0)
	if len(c.slack.Requests()) != calls || c.store.count != writes {
		c.t.Errorf("nothing changed, but there were %d calls and %d writes", len(c.slack.Requests())-calls, c.store.count-writes)
	}
	c.fit()
}

// fit fails the test if Slack rejected anything, or a message was close to a limit.
func (c *pipeline) fit() {
	c.t.Helper()
	if r := c.slack.Refusals(); len(r) > 0 {
		c.t.Errorf("%d requests were rejected, the first: %+v", len(r), r[0])
	}
	if size := c.slack.Largest(); size.Characters > 9000 || size.Blocks > 40 {
		c.t.Errorf("the largest message has %+v", size)
	}
}

// thread is a message in a channel with its replies.
type thread struct {
	fakeslack.Message
	replies []fakeslack.Message
}

// channels returns the messages of each channel in the order of arrival.
func (c *pipeline) channels() map[string][]thread {
	out := map[string][]thread{}
	at := map[audit.MessageRef]int{}
	for _, m := range c.slack.Messages() {
		if m.Thread == "" {
			at[audit.MessageRef{Channel: m.Channel, Message: m.TS}] = len(out[m.Channel])
			out[m.Channel] = append(out[m.Channel], thread{Message: m})
			continue
		}
		parent := &out[m.Channel][at[audit.MessageRef{Channel: m.Channel, Message: m.Thread}]]
		parent.replies = append(parent.replies, m)
	}
	return out
}

// teams returns a config with teams that have a channel each, and the workspace with the
// channels.
func teams(n int) (fakeslack.Config, string) {
	ws := fakeslack.Config{Channels: map[string]fakeslack.Membership{"C000": fakeslack.Member}}
	var b strings.Builder
	b.WriteString("cluster: prod-eu-1\nowners:\n  fallback: platform\n  teams:\n    - {name: platform, slack: {channel: C000}}\n")
	for o := range n {
		ws.Channels[channelOf(team(o))] = fakeslack.Member
		fmt.Fprintf(&b, "    - {name: %s, slack: {channel: %s, mention: %q}}\n", team(o), channelOf(team(o)), mention)
	}
	return ws, b.String() + "slack: {tokenFile: token}\n"
}

func team(n int) string { return fmt.Sprintf("team-%03d", n) }

// text returns the text and blocks of messages, without JSON's escapes.
func text(messages ...fakeslack.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text + "\n" + string(m.Blocks) + "\n")
	}
	return b.String()
}

// top returns the only message in a channel.
func (c *pipeline) top(all map[string][]thread, channel string) thread {
	c.t.Helper()
	in := all[channel]
	if len(in) != 1 {
		c.t.Fatalf("%s: it has %d messages", channel, len(in))
	}
	return in[0]
}

// fakeStore is a store in memory.
type fakeStore struct {
	mu    sync.Mutex
	held  map[string]audit.Stored
	count int
}

func (s *fakeStore) Load(context.Context) (out []audit.Stored, _ []string, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.held {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b audit.Stored) int { return strings.Compare(a.ID, b.ID) })
	return out, nil, nil
}

func (s *fakeStore) Get(_ context.Context, id string) (audit.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.held[id]; ok {
		return r, nil
	}
	return audit.Stored{}, audit.ErrNotStored
}

func (s *fakeStore) Create(ctx context.Context, r audit.Record) (audit.Stored, error) {
	return s.Update(ctx, audit.Stored{Record: r})
}

func (s *fakeStore) Update(_ context.Context, r audit.Stored) (audit.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[r.ID].Version != r.Version {
		return audit.Stored{}, audit.ErrConflict
	}
	s.count++
	r.Version = fmt.Sprint(s.count)
	s.held[r.ID] = r
	return r, nil
}

func (s *fakeStore) Delete(context.Context, audit.Stored) error { return nil }

func channelOf(owner string) string { return "C" + owner[5:] + "X" }

var (
	idPattern      = regexp.MustCompile(`default-deny-present-[0-9a-f]{16}`)
	subjectPattern = regexp.MustCompile(`team-\d{3}-\d{3} \(Ingress\)`)
)

// latency is how long Slack takes to respond.
const latency = 50 * time.Millisecond

// wire is a network that connects to a fake Slack. The connections are pipes, so that in a
// bubble of testing/synctest time advances only while all goroutines wait: HTTP, its
// timeouts and the rate limits are real, but hours of them take no time.
type wire struct {
	accept chan net.Conn
	closed chan struct{}

	mu   sync.Mutex
	down bool
}

// newWire serves a workspace until the test ends, and returns a transport to it.
func newWire(t *testing.T, slackd *fakeslack.Server) (*wire, *http.Transport) {
	t.Helper()
	w := &wire{accept: make(chan net.Conn), closed: make(chan struct{})}
	h := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		time.Sleep(latency)
		slackd.ServeHTTP(rw, r)
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Serve(w) }()
	carrier := &http.Transport{DialContext: w.dial, MaxIdleConnsPerHost: 64}
	t.Cleanup(func() {
		carrier.CloseIdleConnections()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	return w, carrier
}

// cut makes the host refuse connections, or accept them again.
func (w *wire) cut(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

func (w *wire) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w.mu.Lock()
	down := w.down
	w.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	near, far := net.Pipe()
	select {
	case w.accept <- far:
		return near, nil
	case <-w.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener, as do the other methods.
func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.accept:
		return c, nil
	case <-w.closed:
		return nil, net.ErrClosed
	}
}

func (w *wire) Close() error {
	close(w.closed)
	return nil
}

func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "slack", Net: "pipe"} }
