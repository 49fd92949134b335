package slack_test

import (
	"context"
	"maps"
	"slices"
	"strings"
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

// chain is all that lies between what a sweep judges and what stands in a channel:
// what becomes of findings, whom the config routes them to, who tells them, and a
// Slack with its real limits. It lives in a bubble of testing/synctest.
type chain struct {
	t         *testing.T
	store     hasty
	slack     *fakeslack.Server
	wire      *wire
	by        *sender.Bot
	config    string
	ownership []audit.NamespaceOwner
	world     map[string]audit.Finding // by ID
	maxNew    int
	mute      map[string]bool // owners who were not to be told for some time
}

// hasty is a store whose writes fail once the time for them is over, as those to an
// API server do.
type hasty struct {
	*shelf
	latency time.Duration // of a write
}

func (h hasty) Update(ctx context.Context, s audit.Stored) (audit.Stored, error) {
	time.Sleep(h.latency)
	if err := ctx.Err(); err != nil {
		return audit.Stored{}, err
	}
	return h.shelf.Update(ctx, s)
}

// link runs a test in a bubble over a workspace.
func link(t *testing.T, c fakeslack.Config, cfg string, test func(*testing.T, *chain)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c.Token, c.Allowed = token, append(c.Allowed, mention)
		slackd := fakeslack.New(c)
		w, carrier := newWire(t, slackd)
		test(t, &chain{
			t: t, store: hasty{shelf: &shelf{held: map[string]audit.Stored{}}}, slack: slackd, wire: w, config: cfg,
			by:    sender.NewBot(secret(token), "http://slack/api/", sender.Options{Transport: carrier}),
			world: map[string]audit.Finding{}, mute: map[string]bool{},
		})
	})
}

// add makes a finding part of the world.
func (c *chain) add(r audit.Record) audit.Finding {
	r.OpenedAt = time.Time{}
	c.world[r.ID] = r.Finding
	return r.Finding
}

func (c *chain) routes() notify.Routes {
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

// sweep stores what becomes of the world, tells it, and returns what became of that
// by result, each as owner and reason.
func (c *chain) sweep() map[audit.DeliveryResult][]string {
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
	for _, id := range slices.Sorted(maps.Keys(c.world)) {
		ev.Findings = append(ev.Findings, c.world[id])
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
		if _, err := c.store.shelf.Update(c.t.Context(), s); err != nil {
			c.t.Fatal(err)
		}
	}
	stored, _, _ = c.store.Load(c.t.Context())
	d := &notify.Deliverer{
		Store: c.store, Senders: []notify.Sender{c.by}, Routes: routes, Cluster: "prod-eu-1", Namespace: "audit", Publisher: "me", WithLease: true,
		RemindAfter: 24 * time.Hour, Clock: time.Now,
	}
	out := map[audit.DeliveryResult][]string{}
	for _, done := range d.Deliver(c.t.Context(), stored) {
		out[done.Result] = append(out[done.Result], strings.TrimSpace(done.Owner+" "+done.Reason))
	}
	return out
}

// all fails the test unless a sweep sent so many digests and nothing else.
func (c *chain) all(got map[audit.DeliveryResult][]string, sent int) {
	c.t.Helper()
	if len(got[audit.DeliverySent]) != sent || len(got) > 1 {
		for result, list := range got {
			c.t.Logf("%s: %d, the first: %s", result, len(list), list[0])
		}
		c.t.Fatalf("%d digests were sent of %d", len(got[audit.DeliverySent]), sent)
	}
}

// settled fails the test if anything is left to be told or taken, if one more sweep
// makes a call or a write, or if Slack refused anything or nearly would have.
func (c *chain) settled() {
	c.t.Helper()
	for id, s := range c.store.held {
		for _, m := range s.Notifications {
			if m.Pending != "" || m.Claim != (audit.Claim{}) {
				c.t.Fatalf("%s is left with %+v", id, m)
			}
		}
	}
	calls, writes := len(c.slack.Requests()), c.store.count
	c.all(c.sweep(), 0)
	if len(c.slack.Requests()) != calls || c.store.count != writes {
		c.t.Errorf("nothing changed, and there are %d calls and %d writes more", len(c.slack.Requests())-calls, c.store.count-writes)
	}
	c.fit()
}

// fit fails the test if Slack refused anything or nearly would have.
func (c *chain) fit() {
	c.t.Helper()
	if r := c.slack.Refusals(); len(r) > 0 {
		c.t.Errorf("%d were refused, the first: %+v", len(r), r[0])
	}
	if size := c.slack.Largest(); size.Characters > 9000 || size.Blocks > 40 {
		c.t.Errorf("the largest message has %+v", size)
	}
}
