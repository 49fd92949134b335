package slack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// Slack takes fifty updates a minute of all channels together. Whoever waits for
// one holds up no owner's message, and every message is ticked in the end.
func TestUpdatesHoldUpNobody(t *testing.T) {
	const owners = 150
	ws, cfg := teams(owners)
	ws.UpdatesPerMinute = 50
	link(t, ws, cfg, func(t *testing.T, c *chain) {
		c.populate(owners, 1)
		c.all(c.sweep(), owners)
		clear(c.world)
		began, last := time.Now(), time.Time{}
		c.slack.Faults(func(r fakeslack.Request) fakeslack.Fault {
			if r.Method != "chat.update" {
				last = time.Now()
			}
			return fakeslack.Fault{}
		})
		c.all(c.sweep(), owners)
		if d := last.Sub(began); d > 30*time.Second {
			t.Errorf("the last owner hears of the end %v after the first", d)
		}
		in := c.channels()
		for o := range owners {
			if top := c.top(in, channelOf(team(o))); len(top.Earlier) != 1 || len(top.replies) != 2 {
				t.Errorf("%s: %d updates and %d replies", team(o), len(top.Earlier), len(top.replies))
			}
		}
		c.settled()
		t.Logf("everybody has heard after %v, and every message is ticked after %v", last.Sub(began), time.Since(began))
	})
}

// Owners who cannot be reached make the fallback owner's channel a long queue.
// Those who can be reached do not stand in it.
func TestRefusalsHoldUpNobody(t *testing.T) {
	const owners, reached = 60, 10
	ws, cfg := teams(owners)
	for o := range owners - reached {
		ws.Channels[channelOf(team(o))] = fakeslack.Outside
	}
	link(t, ws, cfg, func(t *testing.T, c *chain) {
		of := map[string][]string{}
		for o := range owners {
			for n := range 120 {
				of[team(o)] = append(of[team(o)], c.add(namespace(fmt.Sprintf("%s-%03d", team(o), n), "Ingress", team(o))).ID)
			}
		}
		began := time.Now()
		last := began
		c.slack.Faults(func(r fakeslack.Request) fakeslack.Fault {
			if r.Channel != "C000" {
				last = time.Now()
			}
			return fakeslack.Fault{}
		})
		got := c.sweep()
		in := c.channels()
		for o := owners - reached; o < owners; o++ {
			c.opened(team(o), in, of[team(o)])
		}
		if d := last.Sub(began); d > time.Minute {
			t.Errorf("the last owner is told %v after the first", d)
		}
		if len(got[audit.DeliveryRefused]) != owners-reached || !strings.Contains(got[audit.DeliveryRefused][0], "not_in_channel: invite the app") {
			t.Errorf("refused: %d", len(got[audit.DeliveryRefused]))
		}
		for n := 0; len(got[audit.DeliveryFailed]) > 0 && n < 20; n++ {
			got = c.sweep() // what the time did not do for
		}
		named := map[string]int{}
		for _, m := range c.slack.Messages() {
			if m.Channel == "C000" {
				for _, id := range idPattern.FindAllString(string(m.Blocks), -1) {
					named[id]++
				}
			}
		}
		for o := range owners - reached {
			for _, id := range of[team(o)] {
				if named[id] != 1 {
					t.Fatalf("the fallback owner is told %d times of %s", named[id], id)
				}
			}
		}
	})
}
