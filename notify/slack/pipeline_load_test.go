package slack_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

var (
	morePattern     = regexp.MustCompile(`… and (\d+) more`)
	resolvedPattern = regexp.MustCompile(`"Resolved"`)
)

// populate gives each team findings: the first has one, few have many, the last has the
// most.
func (c *pipeline) populate(owners, most int) map[string][]string {
	of, last := map[string][]string{}, owners-1
	for o := range owners {
		for n := range 1 + (most-1)*o*o*o/max(last*last*last, 1) {
			f := c.add(namespace(fmt.Sprintf("%s-%03d", team(o), n), "Ingress", team(o)))
			of[team(o)] = append(of[team(o)], f.ID)
		}
	}
	return of
}

// limiter makes Slack limit the rate now and then, and checks that the sender waits.
type limiter struct {
	t       *testing.T
	random  *rand.Rand
	until   map[string]time.Time // by lane
	since   map[string]time.Time
	ordered int
	others  int // calls into other channels while one had to wait
}

// lane is what Slack limits together: the messages of a channel, or all updates.
func lane(r fakeslack.Request) string {
	if r.Method == "chat.update" {
		return r.Method
	}
	return r.Channel
}

func (l *limiter) decide(r fakeslack.Request) fakeslack.Fault {
	now, name := time.Now(), lane(r)
	for other, until := range l.until {
		if other != name && now.Before(until) && now.After(l.since[other]) {
			l.others++
			break
		}
	}
	if until, ok := l.until[name]; ok {
		if late := now.Sub(until); late < 0 || late >= time.Second {
			l.t.Errorf("%s should wait until %v, but calls at %v", name, until, now)
		}
		delete(l.until, name)
	}
	if l.random.IntN(40) > 0 {
		return fakeslack.Fault{}
	}
	l.ordered++
	wait := time.Duration(1+l.random.IntN(10)) * time.Second
	l.since[name], l.until[name] = now, now.Add(wait)
	return fakeslack.Fault{Status: http.StatusTooManyRequests, RetryAfter: wait}
}

// Two hundred owners have between one and three hundred findings. Each owner is notified of
// each finding once, in its channel and within every limit, though Slack limits the rate now
// and then, and of each resolution in the thread, with the message checked off.
func TestManyOwnersWithManyFindings(t *testing.T) {
	owners, most := 200, 300
	if testing.Short() {
		owners, most = 40, 120
	}
	ws, cfg := teams(owners)
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
		of := c.populate(owners, most)
		l := &limiter{t: t, random: rand.New(rand.NewPCG(1, 2)), until: map[string]time.Time{}, since: map[string]time.Time{}}
		c.slack.Faults(l.decide)
		peak := watch(t)
		began := time.Now()
		c.all(c.sweep(), owners)
		opened := time.Since(began)
		in := c.channels()
		for owner, ids := range of {
			c.opened(owner, in, ids)
		}
		clear(c.violations)
		began = time.Now()
		c.all(c.sweep(), owners)
		ended := time.Since(began)
		in = c.channels()
		for owner, ids := range of {
			c.resolved(owner, in, ids)
		}
		c.settled()
		posts, updates := 0, 0
		for _, m := range c.slack.Messages() {
			posts, updates = posts+1, updates+len(m.Earlier)
		}
		if calls := len(c.slack.Requests()); calls != posts+updates+l.ordered {
			t.Errorf("%d calls for %d messages, %d updates and %d rate limits", calls, posts, updates, l.ordered)
		}
		if l.ordered == 0 || l.others == 0 {
			t.Errorf("%d rate limits, and %d calls to other channels in the meantime", l.ordered, l.others)
		}
		t.Logf("%d findings of %d owners: %d messages, %d updates, %d orders to wait, %d writes, largest %+v",
			len(c.store.held), owners, posts, updates, l.ordered, c.store.count, c.slack.Largest())
		t.Logf("by Slack's clock %v to open and %v to mend; peak heap %d MiB, the test's own Slack and store in it", opened, ended, peak()>>20)
	})
}

// struckPattern finds the subject of a line that is struck through.
var struckPattern = regexp.MustCompile(`"text":"(?:[0-9,]+ namespaces [a-z0-9-]*\*|team-\d{3}-\d{3,4})","style":\{"strike":true,"code":true\}`)

// linePattern finds the subject of a line of a list: one namespace, or a number of them.
var linePattern = regexp.MustCompile(`"text":"(?:([0-9,]+) namespaces [a-z0-9-]*\*|team-\d{3}-\d{3,4})","style":\{"code":true\}`)

// listedIn counts the findings that the lines of a list are about. Each namespace has one.
func listedIn(blocks string) int {
	n := 0
	for _, m := range linePattern.FindAllStringSubmatch(blocks, -1) {
		several, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		if err != nil {
			several = 1
		}
		n += several
	}
	return n
}

// opened checks the announcement that an owner received.
func (c *pipeline) opened(owner string, in map[string][]thread, ids []string) {
	c.t.Helper()
	top := c.top(in, channelOf(owner))
	shown := listedIn(string(top.Blocks))
	more := 0
	if m := morePattern.FindStringSubmatch(string(top.Blocks)); m != nil {
		more, _ = strconv.Atoi(m[1])
	}
	if shown+more != len(ids) || shown == 0 {
		c.t.Errorf("%s: the message names %d findings and %d more, of %d", owner, shown, more, len(ids))
	}
	if !strings.Contains(string(top.Blocks), "S0123") {
		c.t.Errorf("%s: no one is mentioned", owner)
	}
	c.each(owner, top.replies, idPattern, ids, func(id string) string { return id })
}

// resolved checks what an owner received whose findings are all resolved.
func (c *pipeline) resolved(owner string, in map[string][]thread, ids []string) {
	c.t.Helper()
	top := c.top(in, channelOf(owner))
	var ends []fakeslack.Message
	for _, m := range top.replies {
		if resolvedPattern.Match(m.Blocks) {
			ends = append(ends, m)
		}
	}
	c.each(owner, ends, subjectPattern, ids, func(id string) string { return c.store.held[id].Subject.String() })
	blocks := string(top.Blocks)
	lines, ticks := len(struckPattern.FindAllString(blocks, -1)), strings.Count(blocks, `"white_check_mark"`)
	if len(top.Earlier) != 1 || lines == 0 || lines != ticks || strings.Count(blocks, `"strike":true`) < lines || strings.Contains(blocks, "S0123") {
		c.t.Errorf("%s: after %d updates %d of %d lines are checked off", owner, len(top.Earlier), ticks, lines)
	}
}

// each fails the test unless messages name each finding exactly once, and no others.
func (c *pipeline) each(owner string, messages []fakeslack.Message, pattern *regexp.Regexp, ids []string, by func(id string) string) {
	c.t.Helper()
	times := map[string]int{}
	for _, m := range messages {
		for _, name := range pattern.FindAllString(string(m.Blocks), -1) {
			times[name]++
		}
	}
	for _, id := range ids {
		if times[by(id)] != 1 {
			c.t.Errorf("%s: %s was sent %d times", owner, by(id), times[by(id)])
		}
		delete(times, by(id))
	}
	for name := range times {
		c.t.Errorf("%s: was notified of %s, which has another owner", owner, name)
	}
}

// watch samples the heap once a second until the test ends, and returns a function that
// returns its peak.
func watch(t *testing.T) (peak func() uint64) {
	var most atomic.Uint64
	end, done := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(end); <-done })
	go func() {
		defer close(done)
		for tick := time.NewTicker(time.Second); ; {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			select {
			case <-end:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	return most.Load
}

// Slack accepts fifty updates a minute across all channels. Waiting for one does not hold up
// the messages of other owners, and every message is checked off in the end.
func TestUpdatesHoldUpNobody(t *testing.T) {
	const owners = 150
	ws, cfg := teams(owners)
	ws.UpdatesPerMinute = 50
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
		c.populate(owners, 1)
		c.all(c.sweep(), owners)
		clear(c.violations)
		began, last := time.Now(), time.Time{}
		c.slack.Faults(func(r fakeslack.Request) fakeslack.Fault {
			if r.Method != "chat.update" {
				last = time.Now()
			}
			return fakeslack.Fault{}
		})
		c.all(c.sweep(), owners)
		if d := last.Sub(began); d > 30*time.Second {
			t.Errorf("the last owner is notified of the resolution %v after the first", d)
		}
		in := c.channels()
		for o := range owners {
			if top := c.top(in, channelOf(team(o))); len(top.Earlier) != 1 || len(top.replies) != 2 {
				t.Errorf("%s: %d updates and %d replies", team(o), len(top.Earlier), len(top.replies))
			}
		}
		c.settled()
		t.Logf("all owners are notified after %v, and all messages are checked off after %v", last.Sub(began), time.Since(began))
	})
}

// Owners who cannot be reached make a long queue for the fallback owner's channel. Other
// owners do not wait in it.
func TestRefusalsHoldUpNobody(t *testing.T) {
	const owners, reached = 60, 10
	ws, cfg := teams(owners)
	for o := range owners - reached {
		ws.Channels[channelOf(team(o))] = fakeslack.Outside
	}
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
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
			t.Errorf("the last owner is notified %v after the first", d)
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
					t.Fatalf("the fallback owner is notified %d times of %s", named[id], id)
				}
			}
		}
	})
}

// Two thousand findings of one sweep are one message per owner, and so is the end of the
// storm, apart from the replies.
func TestStorm(t *testing.T) {
	const owners, findings = 20, 2000
	ws, cfg := teams(owners)
	link(t, ws, cfg, func(t *testing.T, c *pipeline) {
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
			if !strings.Contains(blocks, strconv.Itoa(n)+" new findings at once") || listedIn(blocks) != n {
				t.Errorf("%s: the message about %d findings is %s", owner, n, blocks)
			}
		}
		clear(c.violations)
		c.all(c.sweep(), owners)
		in = c.channels()
		for owner := range of {
			if top := c.top(in, channelOf(owner)); len(top.Earlier) != 1 || !strings.Contains(string(top.Blocks), "Nothing here needs your action anymore.") {
				t.Errorf("%s: after %d updates the message is %s", owner, len(top.Earlier), top.Blocks)
			}
		}
		c.settled()
		t.Logf("%d findings of %d owners: %d calls, %d writes, largest %+v", findings, owners, len(c.slack.Requests()), c.store.count, c.slack.Largest())
	})
}

// Slack is down for three sweeps, in various ways. After that everything arrives once, and
// what was resolved in the meantime arrives only as resolved.
func TestOutage(t *testing.T) {
	always := func(f fakeslack.Fault) func(*pipeline) {
		return func(c *pipeline) { c.slack.Faults(func(fakeslack.Request) fakeslack.Fault { return f }) }
	}
	for _, row := range []struct {
		name   string
		down   func(*pipeline)
		reason string
	}{
		{"connections are refused", func(c *pipeline) { c.wire.cut(true) }, "connection refused"},
		{"it fails", always(fakeslack.Fault{Status: http.StatusInternalServerError}), "Internal Server Error"},
		{"it hangs", always(fakeslack.Fault{Hang: true}), "time"},
		{"connections break", always(fakeslack.Fault{Cut: true}), "EOF"},
		{"it asks to wait beyond the deadline", always(fakeslack.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Hour}), "slack accepts nothing for"},
		{"it always asks to wait", always(fakeslack.Fault{Status: http.StatusTooManyRequests, RetryAfter: time.Second}), "too many messages"},
	} {
		t.Run(row.name, func(t *testing.T) {
			const owners = 70 // more than recipientsAtOnce
			ws, cfg := teams(owners)
			link(t, ws, cfg, func(_ *testing.T, c *pipeline) { c.outage(owners, row.down, row.reason) })
		})
	}
}

// A slow API server has time to record what was sent, so that nothing is sent twice.
func TestSlowStore(t *testing.T) {
	const owners = 40
	ws, cfg := teams(owners)
	link(t, ws, cfg, func(_ *testing.T, c *pipeline) {
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

func (c *pipeline) outage(owners int, down func(*pipeline), reason string) {
	of := c.populate(owners, 12)
	down(c)
	explained := func(list []string) (all bool) {
		all = true
		for _, line := range list {
			all = all && (strings.Contains(line, reason) || strings.Contains(line, "deadline exceeded"))
		}
		return all && strings.Contains(strings.Join(list, "\n"), reason)
	}
	for n := range 3 {
		began := time.Now()
		got := c.sweep()
		if len(got[audit.DeliveryFailed]) != owners || len(got) != 1 || !explained(got[audit.DeliveryFailed]) {
			c.t.Fatalf("sweep %d: %d failed: %.300q", n, len(got[audit.DeliveryFailed]), got)
		}
		if d := time.Since(began); d > 5*time.Minute {
			c.t.Errorf("sweep %d: the delivery took %v", n, d)
		}
		time.Sleep(10 * time.Minute)
	}
	even := func(owner string) bool { return owner[len(owner)-1]%2 == 0 }
	for owner, ids := range of {
		for _, id := range ids {
			if even(owner) {
				delete(c.violations, id)
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
		if !resolvedPattern.Match(top.Blocks) || !strings.Contains(string(top.Blocks), "before you could be notified") || strings.Contains(string(top.Blocks), "S0123") {
			c.t.Errorf("%s: the resolution was sent as %s", owner, top.Blocks)
		}
		c.each(owner, append(top.replies, top.Message), subjectPattern, ids, func(id string) string { return c.store.held[id].Subject.String() })
	}
	c.settled()
	c.t.Logf("%d calls, %d writes", len(c.slack.Requests()), c.store.count)
}
