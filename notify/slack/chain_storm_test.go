package slack_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Two thousand findings of one sweep are one message for each owner, whoever has
// most of them; so is the end of the storm, but for the thread.
func TestStorm(t *testing.T) {
	const owners, findings = 20, 2000
	ws, cfg := teams(owners)
	link(t, ws, cfg, func(t *testing.T, c *chain) {
		c.maxNew = 500
		of := map[string]int{}
		for n := range findings {
			owner := team(min(n%40, owners-1)) // the last one has half
			of[owner]++
			c.add(namespace(fmt.Sprintf("%s-%04d", owner, n), "Ingress", owner))
		}
		c.all(c.sweep(), owners)
		if n := len(c.slack.Messages()); n != owners {
			t.Errorf("%d messages for %d owners", n, owners)
		}
		in := c.channels()
		for owner, n := range of {
			blocks := string(c.top(in, channelOf(owner)).Blocks)
			if !strings.Contains(blocks, strconv.Itoa(n)+" new findings at once") || !strings.Contains(blocks, fmt.Sprintf("… and %d more", n-10)) {
				t.Errorf("%s: of %d findings it is told %s", owner, n, blocks)
			}
		}
		clear(c.world)
		c.all(c.sweep(), owners)
		in = c.channels()
		for owner := range of {
			if top := c.top(in, channelOf(owner)); len(top.Earlier) != 1 || !strings.Contains(string(top.Blocks), "Nothing of this is open any more.") {
				t.Errorf("%s: after %d updates it reads %s", owner, len(top.Earlier), top.Blocks)
			}
		}
		c.settled()
		t.Logf("%d findings of %d owners: %d calls, %d writes, largest %+v", findings, owners, len(c.slack.Requests()), c.store.count, c.slack.Largest())
	})
}
