package slack_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// Slack is down for three sweeps, however it is: then everything arrives once, and
// what was mended meanwhile as mended only.
func TestOutage(t *testing.T) {
	always := func(f fakeslack.Fault) func(*chain) {
		return func(c *chain) { c.slack.Faults(func(fakeslack.Request) fakeslack.Fault { return f }) }
	}
	for _, row := range []struct {
		name   string
		down   func(*chain)
		reason string
	}{
		{"connections are refused", func(c *chain) { c.wire.cut(true) }, "connection refused"},
		{"it fails", always(fakeslack.Fault{Status: http.StatusInternalServerError}), "Internal Server Error"},
		{"it hangs", always(fakeslack.Fault{Hang: true}), "time"},
		{"connections break", always(fakeslack.Fault{Cut: true}), "EOF"},
		{"it asks for more patience than there is", always(fakeslack.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Hour}), "slack takes nothing for"},
		{"it asks for patience for ever", always(fakeslack.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Second}), "too many messages"},
	} {
		t.Run(row.name, func(t *testing.T) {
			const owners = 70 // more than are told at once
			ws, cfg := teams(owners)
			link(t, ws, cfg, func(_ *testing.T, c *chain) { c.outage(owners, row.down, row.reason) })
		})
	}
}

// An API server that takes its time to store what was told gets it, and nothing is
// told twice for want of it.
func TestSlowStore(t *testing.T) {
	const owners = 40
	ws, cfg := teams(owners)
	link(t, ws, cfg, func(_ *testing.T, c *chain) {
		c.store.latency = 40 * time.Millisecond
		of := c.populate(owners, 220)
		c.all(c.sweep(), owners)
		in := c.channels()
		for owner, ids := range of {
			c.opened(owner, in, ids)
		}
		c.settled()
	})
}

func (c *chain) outage(owners int, down func(*chain), reason string) {
	of := c.populate(owners, 12)
	down(c)
	told := func(list []string) (all bool) {
		all = true
		for _, line := range list {
			all = all && (strings.Contains(line, reason) || strings.Contains(line, "deadline exceeded"))
		}
		return all && strings.Contains(strings.Join(list, "\n"), reason)
	}
	for n := range 3 {
		began := time.Now()
		got := c.sweep()
		if len(got[audit.DeliveryFailed]) != owners || len(got) != 1 || !told(got[audit.DeliveryFailed]) {
			c.t.Fatalf("sweep %d: %d failed: %.300q", n, len(got[audit.DeliveryFailed]), got)
		}
		if d := time.Since(began); d > 5*time.Minute {
			c.t.Errorf("sweep %d: telling took %v", n, d)
		}
		time.Sleep(10 * time.Minute)
	}
	even := func(owner string) bool { return owner[len(owner)-1]%2 == 0 }
	for owner, ids := range of {
		for _, id := range ids {
			if even(owner) {
				delete(c.world, id)
			}
		}
	}
	c.wire.cut(false)
	c.slack.Faults(nil)
	time.Sleep(time.Hour) // whatever patience was asked for is over
	c.all(c.sweep(), owners)
	in := c.channels()
	for owner, ids := range of {
		if !even(owner) {
			c.opened(owner, in, ids)
			continue
		}
		top := c.top(in, channelOf(owner))
		if !resolvedPattern.Match(top.Blocks) || !strings.Contains(string(top.Blocks), "before you could be told of it") || strings.Contains(string(top.Blocks), "S0123") {
			c.t.Errorf("%s: the end is told as %s", owner, top.Blocks)
		}
		c.each(owner, append(top.replies, top.Message), subjectPattern, ids, func(id string) string { return c.store.held[id].Subject.String() })
	}
	c.settled()
	c.t.Logf("%d calls, %d writes", len(c.slack.Requests()), c.store.count)
}
