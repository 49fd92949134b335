package slack_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// edit changes the config between two sweeps.
func (c *pipeline) edit(old, replacement string) {
	c.t.Helper()
	if !strings.Contains(c.config, old) {
		c.t.Fatalf("the config does not contain %q", old)
	}
	c.config = strings.ReplaceAll(c.config, old, replacement)
}

// show returns the messages in the channels, one per line.
func (c *pipeline) show() string {
	var b strings.Builder
	all := c.channels()
	for _, channel := range []string{"C000", "C0X", "C000X", "C001X", "C0NEW", "CNAMED", "CAGAIN"} {
		for _, m := range all[channel] {
			b.WriteString(channel + " " + m.Text + "\n")
			for _, r := range m.replies {
				b.WriteString(channel + " > " + r.Text + "\n")
			}
		}
	}
	return b.String()
}

func (c *pipeline) shows(want string) {
	c.t.Helper()
	if got := c.show(); got != strings.TrimPrefix(want, "\n") {
		c.t.Errorf("the channels have\n%s\nwant%s", got, want)
	}
}

// A team that moves to another channel is notified of changes there. Messages in the old
// channel, which may belong to other people by now, are not modified.
func TestTeamMovesToAnotherChannel(t *testing.T) {
	ws, cfg := teams(1)
	ws.Channels["C0NEW"] = fakeslack.Member
	link(t, ws, cfg, func(_ *testing.T, c *pipeline) {
		stays := c.add(namespace("stays", "Ingress", team(0)))
		goes := c.add(namespace("goes", "Ingress", team(0)))
		c.all(c.sweep(), 1)
		c.edit("channel: C000X", "channel: C0NEW")
		c.all(c.sweep(), 0)
		delete(c.violations, goes.ID)
		c.all(c.sweep(), 1)
		time.Sleep(25 * time.Hour)
		c.all(c.sweep(), 1)
		delete(c.violations, stays.ID)
		c.all(c.sweep(), 1)
		c.shows(`
C000X 2 new findings on ` + "`prod-eu-1`: `goes (Ingress)`" + ` and others
C000X > Details of 2 findings
C0NEW 1 finding resolved on ` + "`prod-eu-1`: `goes (Ingress)`" + `
C0NEW 1 finding still open on ` + "`prod-eu-1`: `stays (Ingress)`" + `
C0NEW 1 finding resolved on ` + "`prod-eu-1`: `stays (Ingress)`" + `
`)
		c.settled()
	})
}

// A team leaves the registry, and its namespaces go to the fallback owner, who is notified
// of the findings as its own, and not that they were released.
func TestTeamLeavesTheRegistry(t *testing.T) {
	ws, cfg := teams(1)
	link(t, ws, cfg, func(_ *testing.T, c *pipeline) {
		f := c.add(namespace("shop", "Ingress", team(0)))
		c.all(c.sweep(), 1)
		c.edit("    - {name: team-000, slack: {channel: C000X, mention: \""+mention+"\"}}\n", "")
		f.Owners = []string{"platform"}
		c.violations[f.ID] = f
		c.all(c.sweep(), 1)
		delete(c.violations, f.ID)
		c.all(c.sweep(), 1)
		c.shows(`
C000 1 finding on ` + "`prod-eu-1`: `shop (Ingress)`" + `
C000 > Details of 1 finding
C000 > 1 finding resolved on ` + "`prod-eu-1`: `shop (Ingress)`" + `
C000X 1 new finding on ` + "`prod-eu-1`: `shop (Ingress)`" + `
C000X > Details of 1 finding
`)
		c.settled()
	})
}

// After reportOnly is switched on and off again, the team is notified of what was opened
// and resolved in the meantime. No message is repeated.
func TestReportOnlyOnAndOff(t *testing.T) {
	ws, cfg := teams(1)
	link(t, ws, cfg, func(_ *testing.T, c *pipeline) {
		kept := c.add(namespace("kept", "Ingress", team(0)))
		ends := c.add(namespace("ends", "Ingress", team(0)))
		c.all(c.sweep(), 1)
		const on, off = "{name: team-000, reportOnly: true,", "{name: team-000,"
		c.edit(off, on)
		c.all(c.sweep(), 0)
		delete(c.violations, ends.ID)
		c.add(namespace("fresh", "Ingress", team(0)))
		c.all(c.sweep(), 0)
		time.Sleep(25 * time.Hour)
		c.all(c.sweep(), 0)
		c.edit(on, off)
		c.all(c.sweep(), 1)
		c.all(c.sweep(), 0)
		delete(c.violations, kept.ID)
		c.all(c.sweep(), 1)
		c.shows(`
C000X 2 findings on ` + "`prod-eu-1`: `ends (Ingress)`" + ` and others
C000X > Details of 2 findings
C000X > 1 finding resolved on ` + "`prod-eu-1`: `ends (Ingress)`" + `
C000X > 1 finding still open on ` + "`prod-eu-1`: `kept (Ingress)`" + `
C000X > 1 finding resolved on ` + "`prod-eu-1`: `kept (Ingress)`" + `
C000X 1 new finding on ` + "`prod-eu-1`: `fresh (Ingress)`" + `
C000X > Details of 1 finding
`)
		c.settled()
	})
}

// The fallback owner, notified instead of a team that cannot be reached, is notified of the
// resolution in the thread of the announcement, which is checked off. The team's findings
// are not counted as the fallback owner's.
func TestThreadOfTheFallbackOwner(t *testing.T) {
	ws, cfg := teams(1)
	ws.Channels["C000X"] = fakeslack.Archived
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
		c.add(namespace("shop", "Ingress", team(0)))
		c.sweep()
		clear(c.violations)
		got := c.sweep()
		if len(got[audit.DeliverySent]) != 1 || len(got[audit.DeliveryRefused]) != 1 {
			t.Errorf("deliveries: %v", got)
		}
		c.shows(`
C000 1 finding on ` + "`prod-eu-1`: `shop (Ingress)`" + `
C000 > Details of 1 finding
C000 > 1 finding resolved on ` + "`prod-eu-1`: `shop (Ingress)`" + `
`)
		if top := c.channels()["C000"]; len(top) == 0 || len(top[0].Earlier) != 1 || strings.Contains(text(append(top[0].replies, top[0].Message, top[0].first())...), " for platform.") {
			t.Errorf("the channel has %+v", top)
		}
	})
}

// first is a message before its updates.
func (m thread) first() fakeslack.Message {
	if len(m.Earlier) == 0 {
		return fakeslack.Message{}
	}
	return fakeslack.Message{Text: m.Earlier[0].Text, Blocks: m.Earlier[0].Blocks}
}

// Findings and the config change at random between sweeps, and Slack fails now and then. In
// the end nothing is pending, nothing was rejected, and every owner is notified of the
// resolution of what was announced to them.
func TestRandomEdits(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			const owners = 4
			ws, cfg := teams(owners)
			for o := range owners {
				ws.Channels[strings.Replace(channelOf(team(o)), "X", "Y", 1)] = fakeslack.Member
			}
			link(t, ws, cfg, func(t *testing.T, c *pipeline) {
				random := rand.New(rand.NewPCG(seed, 5))
				for range 25 {
					c.turn(random, owners)
					c.sweep()
					time.Sleep(time.Duration(random.IntN(26)) * time.Hour)
				}
				c.config = cfg
				c.slack.Faults(nil)
				clear(c.violations)
				for range 3 {
					c.sweep()
					time.Sleep(2 * time.Hour)
				}
				c.settled()
				checked := 0
				for id, s := range c.store.held {
					for _, m := range s.Notifications {
						if c.mute[m.Owner] {
							continue
						}
						if checked++; m.Notified() {
							t.Errorf("%s is resolved, but %s was last notified of %q", id, m.Owner, m.Last)
						}
					}
				}
				t.Logf("%d ends checked, %d messages", checked, len(c.slack.Messages()))
			})
		})
	}
}

// turn makes a few random changes to the findings and the config.
func (c *pipeline) turn(random *rand.Rand, owners int) {
	o := random.IntN(owners)
	name, x := team(o), channelOf(team(o))
	y := strings.Replace(x, "X", "Y", 1)
	replace := func(old, replacement string) { c.config = strings.Replace(c.config, old, replacement, 1) }
	switch random.IntN(8) {
	case 0:
		replace(x, y)
	case 1:
		replace(y, x)
	case 2:
		replace("{name: "+name+", slack", "{name: "+name+", reportOnly: true, slack")
	case 3, 7:
		replace("{name: "+name+", reportOnly: true,", "{name: "+name+",")
	case 4:
		replace("{name: "+name+",", "{name: gone-"+name+",")
	case 5, 6:
		replace("{name: gone-"+name+",", "{name: "+name+",")
	}
	for n := range 12 {
		r := namespace(fmt.Sprintf("ns-%02d", n), "Ingress", team(n%owners), team((n+1)%owners))
		switch random.IntN(5) {
		case 0:
			delete(c.violations, r.ID)
		case 1:
			c.add(r)
		case 2:
			r.Owners = r.Owners[random.IntN(2):][:1]
			c.add(r)
		case 3:
			r.Severity, r.Objects = 3, nil
			c.add(r)
		}
	}
	down := random.IntN(4) == 0
	c.slack.Faults(func(fakeslack.Request) fakeslack.Fault {
		if down && random.IntN(3) == 0 {
			return fakeslack.Fault{Status: 500}
		}
		return fakeslack.Fault{}
	})
	for o := range owners {
		if strings.Contains(c.config, "{name: "+team(o)+", reportOnly: true") {
			c.mute[team(o)] = true
		}
	}
}

// named is a workspace with an owner whose Namespace names the channel.
func named(t *testing.T, test func(*testing.T, *pipeline)) {
	t.Helper()
	ws, cfg := teams(0)
	ws.Channels["CNAMED"] = fakeslack.Member
	ws.Names = map[string]string{"team-x": "CNAMED"}
	cfg = strings.Replace(cfg, "tokenFile: token}", "tokenFile: token, channelFrom: {namespaceAnnotation: example.com/slack, allow: [\"team-*\"]}}", 1)
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
		c.ownership = []audit.NamespaceOwner{{Namespace: "x", Owner: "x", Channel: "team-x", Allowed: true}}
		c.add(namespace("x", "Ingress", "x"))
		c.add(namespace("x", "Egress", "x"))
		test(t, c)
	})
}

// A channel has one rate limit, whether it is addressed by name or ID.
func TestPaceOfANamedChannel(t *testing.T) {
	named(t, func(t *testing.T, c *pipeline) {
		c.all(c.sweep(), 1)
		clear(c.violations)
		c.all(c.sweep(), 1)
		c.add(namespace("x2", "Ingress", "x"))
		c.all(c.sweep(), 1)
		posts := len(c.slack.Messages()) + 1 // and an update
		if calls := len(c.slack.Requests()); calls != posts {
			t.Errorf("%d calls for %d messages and updates: Slack limited the rate", calls, posts)
		}
		c.settled()
	})
}

// After a channel was archived and another one created under its name, owners are notified
// in the new channel, although the thread is in the old one.
func TestNamedChannelThatWasMadeAnew(t *testing.T) {
	named(t, func(t *testing.T, c *pipeline) {
		c.all(c.sweep(), 1)
		c.slack.Channel("CNAMED", fakeslack.Archived)
		c.slack.Channel("CAGAIN", fakeslack.Member, "team-x")
		clear(c.violations)
		c.all(c.sweep(), 1)
		c.shows(`
CNAMED 2 new findings on ` + "`prod-eu-1`: `x (Egress)`" + ` and others
CNAMED > Details of 2 findings
CAGAIN 2 findings resolved on ` + "`prod-eu-1`: `x (Egress)`" + ` and others
`)
	})
}

// If a message was deleted, its replies are not lost.
func TestDeletedMessage(t *testing.T) {
	ws, cfg := teams(1)
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
		c.add(namespace("one", "Ingress", team(0)))
		f := c.add(namespace("two", "Ingress", team(0)))
		c.all(c.sweep(), 1)
		c.slack.Delete("C000X", c.channels()["C000X"][0].TS)
		delete(c.violations, f.ID)
		c.all(c.sweep(), 1)
		time.Sleep(25 * time.Hour)
		c.all(c.sweep(), 1)
		clear(c.violations)
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

// Teams that share a channel have separate messages in it, within its rate limit.
func TestTeamsThatShareAChannel(t *testing.T) {
	ws, cfg := teams(3)
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
		c.edit("C001X", "C000X")
		c.edit("C002X", "C000X")
		f := c.add(namespace("shared", "Ingress", team(0), team(1)))
		for o := range 3 {
			for n := range 20 {
				c.add(namespace(team(o)+"-"+string(rune('a'+n)), "Ingress", team(o)))
			}
		}
		c.all(c.sweep(), 3)
		delete(c.violations, f.ID)
		c.all(c.sweep(), 2)
		clear(c.violations)
		c.all(c.sweep(), 3)
		in := c.channels()["C000X"]
		if len(in) != 3 {
			t.Fatalf("the channel of three teams has %d messages", len(in))
		}
		posts, updates := 0, 0
		for n, top := range in {
			posts, updates = posts+1+len(top.replies), updates+len(top.Earlier)
			if got := strings.Count(text(top.replies...), "No open findings for "); got != 1 {
				t.Errorf("message %d: its team is notified %d times that nothing is open", n, got)
			}
		}
		if calls := len(c.slack.Requests()); calls != posts+updates {
			t.Errorf("%d calls for %d messages and %d updates: Slack limited the rate", calls, posts, updates)
		}
		c.settled()
	})
}
