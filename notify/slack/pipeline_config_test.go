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
		c.t.Fatalf("the config does not hold %q", old)
	}
	c.config = strings.ReplaceAll(c.config, old, replacement)
}

// show returns what stands in the channels, a line for each message.
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
		c.t.Errorf("there stands\n%s\nwant%s", got, want)
	}
}

// A team that moves to another channel hears there how things went on. What stands
// in the old channel, which may be anybody's by now, is left alone.
func TestTeamMovesToAnotherChannel(t *testing.T) {
	ws, cfg := teams(1)
	ws.Channels["C0NEW"] = fakeslack.Member
	link(t, ws, cfg, func(_ *testing.T, c *pipeline) {
		stays := c.add(namespace("stays", "Ingress", team(0)))
		goes := c.add(namespace("goes", "Ingress", team(0)))
		c.all(c.sweep(), 1)
		c.edit("channel: C000X", "channel: C0NEW")
		c.all(c.sweep(), 0)
		delete(c.world, goes.ID)
		c.all(c.sweep(), 1)
		time.Sleep(25 * time.Hour)
		c.all(c.sweep(), 1)
		delete(c.world, stays.ID)
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

// A team that leaves the registry while its namespaces go to the fallback owner:
// that one hears of the findings as of its own, and not that they are not its own.
func TestTeamLeavesTheRegistry(t *testing.T) {
	ws, cfg := teams(1)
	link(t, ws, cfg, func(_ *testing.T, c *pipeline) {
		f := c.add(namespace("shop", "Ingress", team(0)))
		c.all(c.sweep(), 1)
		c.edit("    - {name: team-000, slack: {channel: C000X, mention: \""+mention+"\"}}\n", "")
		f.Owners = []string{"platform"}
		c.world[f.ID] = f
		c.all(c.sweep(), 1)
		delete(c.world, f.ID)
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

// Report-only, switched on and off again: what opened meanwhile is told then, and so
// is the end of what the team knew as open. Nothing comes twice.
func TestReportOnlyOnAndOff(t *testing.T) {
	ws, cfg := teams(1)
	link(t, ws, cfg, func(_ *testing.T, c *pipeline) {
		kept := c.add(namespace("kept", "Ingress", team(0)))
		ends := c.add(namespace("ends", "Ingress", team(0)))
		c.all(c.sweep(), 1)
		const on, off = "{name: team-000, reportOnly: true,", "{name: team-000,"
		c.edit(off, on)
		c.all(c.sweep(), 0)
		delete(c.world, ends.ID)
		c.add(namespace("fresh", "Ingress", team(0)))
		c.all(c.sweep(), 0)
		time.Sleep(25 * time.Hour)
		c.all(c.sweep(), 0)
		c.edit(on, off)
		c.all(c.sweep(), 1)
		c.all(c.sweep(), 0)
		delete(c.world, kept.ID)
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

// The fallback owner, told in place of a team that cannot be reached, hears of the
// end in the thread of the beginning; the message is ticked, and no count of the
// team's findings is said to be the fallback owner's own.
func TestThreadOfTheFallbackOwner(t *testing.T) {
	ws, cfg := teams(1)
	ws.Channels["C000X"] = fakeslack.Archived
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
		c.add(namespace("shop", "Ingress", team(0)))
		c.sweep()
		clear(c.world)
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
			t.Errorf("it stands there: %+v", top)
		}
	})
}

// first is a message as it was before it was brought up to date.
func (m thread) first() fakeslack.Message {
	if len(m.Earlier) == 0 {
		return fakeslack.Message{}
	}
	return fakeslack.Message{Text: m.Earlier[0].Text, Blocks: m.Earlier[0].Blocks}
}

// A config that is edited at random between sweeps of a world that changes, with a
// Slack that fails now and then: whatever happened, in the end nothing is left to be
// told, nothing is refused, and nobody knows of a finding that is over.
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
				clear(c.world)
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
							t.Errorf("%s is over, and %s knows it as %q", id, m.Owner, m.Last)
						}
					}
				}
				t.Logf("%d ends checked, %d messages", checked, len(c.slack.Messages()))
			})
		})
	}
}

// turn changes the world and the config a little.
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
			delete(c.world, r.ID)
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

// A channel has one pace, by whatever it is called.
func TestPaceOfANamedChannel(t *testing.T) {
	named(t, func(t *testing.T, c *pipeline) {
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
	named(t, func(t *testing.T, c *pipeline) {
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
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
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
			if got := strings.Count(text(top.replies...), "No open findings for "); got != 1 {
				t.Errorf("message %d: its team is notified %d times that nothing is open", n, got)
			}
		}
		if calls := len(c.slack.Requests()); calls != posts+updates {
			t.Errorf("%d calls for %d messages and %d updates: Slack had to ask for patience", calls, posts, updates)
		}
		c.settled()
	})
}
