package slack_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

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
			link(t, ws, cfg, func(t *testing.T, c *chain) {
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
func (c *chain) turn(random *rand.Rand, owners int) {
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
