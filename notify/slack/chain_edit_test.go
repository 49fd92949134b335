package slack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// edit changes the config between two sweeps.
func (c *chain) edit(old, replacement string) {
	c.t.Helper()
	if !strings.Contains(c.config, old) {
		c.t.Fatalf("the config does not hold %q", old)
	}
	c.config = strings.ReplaceAll(c.config, old, replacement)
}

// show returns what stands in the channels, a line for each message.
func (c *chain) show() string {
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

func (c *chain) shows(want string) {
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
	link(t, ws, cfg, func(_ *testing.T, c *chain) {
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
	link(t, ws, cfg, func(_ *testing.T, c *chain) {
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
	link(t, ws, cfg, func(_ *testing.T, c *chain) {
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
	link(t, ws, cfg, func(t *testing.T, c *chain) {
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
		if top := c.channels()["C000"]; len(top) == 0 || len(top[0].Earlier) != 1 || strings.Contains(text(append(top[0].replies, top[0].Message, top[0].first())...), "open for platform") {
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
