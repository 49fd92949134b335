package slack_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"
)

var titlePattern = regexp.MustCompile(`"(\d+) new findings? on prod-eu-1"`)

// Five thousand findings have three hundred owners, one of them a tenth, and a sweep has
// half a minute for all of it, at one message a second in a channel. Each sweep goes on
// where the last one stopped: everything is announced once and detailed once.
func TestAsManySweepsAsItTakes(t *testing.T) {
	const owners, findings, largest = 300, 5000, 500
	ws, cfg := teams(owners)
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
		c.within, c.store.latency = 30*time.Second, 20*time.Millisecond
		of := map[string][]string{}
		for n := range findings {
			owner := team(0)
			if n >= largest {
				owner = team(1 + n%(owners-1))
			}
			of[owner] = append(of[owner], c.add(namespace(fmt.Sprintf("%s-%04d", owner, n), "Ingress", owner)).ID)
		}
		sweeps, progress := 0, []int(nil)
		for left := findings; left > 0; sweeps++ {
			began := time.Now()
			c.sweep()
			if took := time.Since(began); took > 2*c.within {
				t.Errorf("sweep %d took %v", sweeps, took)
			}
			now := c.pending()
			if progress = append(progress, now); now >= left {
				t.Fatalf("%d notifications are pending after sweep %d: %v", now, sweeps, progress)
			}
			left = now
			time.Sleep(10 * time.Minute)
		}
		times, announced := map[string]int{}, 0
		for _, m := range c.slack.Messages() {
			if title := titlePattern.FindStringSubmatch(string(m.Blocks)); title != nil {
				n, err := strconv.Atoi(title[1])
				if err != nil {
					t.Fatal(err)
				}
				announced += n
				continue
			}
			for _, id := range idPattern.FindAllString(string(m.Blocks), -1) {
				times[id]++
			}
		}
		repeated := announced - findings
		for owner, ids := range of {
			for _, id := range ids {
				if repeated += times[id] - 1; times[id] != 1 {
					t.Errorf("%s: the details of %s were sent %d times", owner, id, times[id])
				}
			}
		}
		if repeated != 0 || sweeps < 2 {
			t.Errorf("%d findings were announced in %d sweeps", announced, sweeps)
		}
		c.settled()
		t.Logf("%d findings of %d owners, %v for each sweep: %d sweeps, %d messages, %d repeated; pending after each: %v",
			findings, owners, c.within, sweeps, len(c.slack.Messages()), repeated, progress)
	})
}

// pending counts the notifications that are pending.
func (c *pipeline) pending() int {
	n := 0
	for _, s := range c.store.held {
		for _, m := range s.Notifications {
			if m.Pending != "" {
				n++
			}
		}
	}
	return n
}
