package slack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// named is a workspace with an owner whose Namespace names the channel.
func named(t *testing.T, test func(*testing.T, *chain)) {
	t.Helper()
	ws, cfg := teams(0)
	ws.Channels["CNAMED"] = fakeslack.Member
	ws.Names = map[string]string{"team-x": "CNAMED"}
	cfg = strings.Replace(cfg, "tokenFile: token}", "tokenFile: token, channelFrom: {namespaceAnnotation: example.com/slack, allow: [\"team-*\"]}}", 1)
	link(t, ws, cfg, func(t *testing.T, c *chain) {
		c.ownership = []audit.NamespaceOwner{{Namespace: "x", Owner: "x", Channel: "team-x", Allowed: true}}
		c.add(namespace("x", "Ingress", "x"))
		c.add(namespace("x", "Egress", "x"))
		test(t, c)
	})
}

// A channel has one pace, by whatever it is called.
func TestPaceOfANamedChannel(t *testing.T) {
	named(t, func(t *testing.T, c *chain) {
		c.all(c.sweep(), 1)
		clear(c.world)
		c.all(c.sweep(), 1)
		c.add(namespace("x2", "Ingress", "x"))
		c.all(c.sweep(), 1)
		posts := len(c.slack.Messages()) + 1 // and an update
		if calls := len(c.slack.Requests()); calls != posts {
			t.Errorf("%d calls for %d messages and updates: Slack had to ask for patience", calls, posts)
		}
		c.settled()
	})
}

// A channel that was archived and made anew under its name is another one: what
// goes on is told there, and not refused for the thread in the old one.
func TestNamedChannelThatWasMadeAnew(t *testing.T) {
	named(t, func(t *testing.T, c *chain) {
		c.all(c.sweep(), 1)
		c.slack.Channel("CNAMED", fakeslack.Archived)
		c.slack.Channel("CAGAIN", fakeslack.Member, "team-x")
		clear(c.world)
		c.all(c.sweep(), 1)
		c.shows(`
CNAMED 2 new findings on ` + "`prod-eu-1`: `x (Egress)`" + ` and others
CNAMED > Details of 2 findings
CAGAIN 2 findings resolved on ` + "`prod-eu-1`: `x (Egress)`" + ` and others
`)
	})
}

// A message that somebody deleted takes nothing with it.
func TestDeletedMessage(t *testing.T) {
	ws, cfg := teams(1)
	link(t, ws, cfg, func(t *testing.T, c *chain) {
		c.add(namespace("one", "Ingress", team(0)))
		f := c.add(namespace("two", "Ingress", team(0)))
		c.all(c.sweep(), 1)
		c.slack.Delete("C000X", c.channels()["C000X"][0].TS)
		delete(c.world, f.ID)
		c.all(c.sweep(), 1)
		time.Sleep(25 * time.Hour)
		c.all(c.sweep(), 1)
		clear(c.world)
		c.all(c.sweep(), 1)
		c.shows(`
C000X 2 new findings on ` + "`prod-eu-1`: `one (Ingress)`" + ` and others
C000X > Details of 2 findings
C000X 1 finding resolved on ` + "`prod-eu-1`: `two (Ingress)`" + `
C000X 1 finding still open on ` + "`prod-eu-1`: `one (Ingress)`" + `
C000X 1 finding resolved on ` + "`prod-eu-1`: `one (Ingress)`" + `
`)
	})
}

// Two teams that share a channel are told apart in it, and at its pace.
func TestTeamsThatShareAChannel(t *testing.T) {
	ws, cfg := teams(3)
	link(t, ws, cfg, func(t *testing.T, c *chain) {
		c.edit("C001X", "C000X")
		c.edit("C002X", "C000X")
		f := c.add(namespace("shared", "Ingress", team(0), team(1)))
		for o := range 3 {
			for n := range 20 {
				c.add(namespace(team(o)+"-"+string(rune('a'+n)), "Ingress", team(o)))
			}
		}
		c.all(c.sweep(), 3)
		delete(c.world, f.ID)
		c.all(c.sweep(), 2)
		clear(c.world)
		c.all(c.sweep(), 3)
		in := c.channels()["C000X"]
		if len(in) != 3 {
			t.Fatalf("%d messages stand in the channel of three teams", len(in))
		}
		posts, updates := 0, 0
		for n, top := range in {
			posts, updates = posts+1+len(top.replies), updates+len(top.Earlier)
			if got := strings.Count(text(top.replies...), "Nothing is open for "); got != 1 {
				t.Errorf("message %d: its team is told %d times that nothing is open", n, got)
			}
		}
		if calls := len(c.slack.Requests()); calls != posts+updates {
			t.Errorf("%d calls for %d messages and %d updates: Slack had to ask for patience", calls, posts, updates)
		}
		c.settled()
	})
}
