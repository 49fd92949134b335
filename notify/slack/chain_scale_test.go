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

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

var (
	morePattern     = regexp.MustCompile(`… and (\d+) more`)
	resolvedPattern = regexp.MustCompile(`"Resolved"`)
)

// populate gives each team findings: the first has one, few have many, the last has
// most.
func (c *chain) populate(owners, most int) map[string][]string {
	of, last := map[string][]string{}, owners-1
	for o := range owners {
		for n := range 1 + (most-1)*o*o*o/max(last*last*last, 1) {
			f := c.add(namespace(fmt.Sprintf("%s-%03d", team(o), n), "Ingress", team(o)))
			of[team(o)] = append(of[team(o)], f.ID)
		}
	}
	return of
}

// limiter makes Slack ask for patience now and then, and watches whether it gets it.
type limiter struct {
	t       *testing.T
	random  *rand.Rand
	until   map[string]time.Time // by lane
	since   map[string]time.Time
	ordered int
	others  int // calls into other channels while one had to wait
}

// lane is what Slack limits together: the messages of a channel, and all updates.
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
			l.t.Errorf("%s was to wait until %v and calls at %v", name, until, now)
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

// Two hundred owners with one finding to three hundred: each hears of each finding
// once, in its channel and within every limit, though Slack asks for patience now
// and then; and of the end of each in the thread, with the message ticked.
func TestManyOwnersWithManyFindings(t *testing.T) {
	owners, most := 200, 300
	if testing.Short() {
		owners, most = 40, 120
	}
	ws, cfg := teams(owners)
	link(t, ws, cfg, func(t *testing.T, c *chain) {
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
		clear(c.world)
		began = time.Now()
		c.all(c.sweep(), owners)
		ended := time.Since(began)
		in = c.channels()
		for owner, ids := range of {
			c.mended(owner, in, ids)
		}
		c.settled()
		posts, updates := 0, 0
		for _, m := range c.slack.Messages() {
			posts, updates = posts+1, updates+len(m.Earlier)
		}
		if calls := len(c.slack.Requests()); calls != posts+updates+l.ordered {
			t.Errorf("%d calls for %d messages, %d updates and %d orders to wait", calls, posts, updates, l.ordered)
		}
		if l.ordered == 0 || l.others == 0 {
			t.Errorf("%d orders to wait, and %d calls elsewhere meanwhile", l.ordered, l.others)
		}
		t.Logf("%d findings of %d owners: %d messages, %d updates, %d orders to wait, %d writes, largest %+v",
			len(c.store.held), owners, posts, updates, l.ordered, c.store.count, c.slack.Largest())
		t.Logf("by Slack's clock %v to open and %v to mend; peak heap %d MiB, the test's own Slack and store in it", opened, ended, peak()>>20)
	})
}

// opened checks what an owner hears of an opening.
func (c *chain) opened(owner string, in map[string][]thread, ids []string) {
	c.t.Helper()
	top := c.top(in, channelOf(owner))
	shown := len(subjectPattern.FindAllString(string(top.Blocks), -1))
	more := 0
	if m := morePattern.FindStringSubmatch(string(top.Blocks)); m != nil {
		more, _ = strconv.Atoi(m[1])
	}
	if shown+more != len(ids) || shown == 0 {
		c.t.Errorf("%s: the message names %d findings and %d more, of %d", owner, shown, more, len(ids))
	}
	if !strings.Contains(string(top.Blocks), "S0123") {
		c.t.Errorf("%s: nobody is called", owner)
	}
	c.each(owner, top.replies, idPattern, ids, func(id string) string { return id })
}

// mended checks what an owner whose findings are all mended hears of that.
func (c *chain) mended(owner string, in map[string][]thread, ids []string) {
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
	lines, ticks := len(subjectPattern.FindAllString(blocks, -1)), strings.Count(blocks, `"white_check_mark"`)
	if len(top.Earlier) != 1 || lines == 0 || lines != ticks || strings.Count(blocks, `"strike":true`) < lines || strings.Contains(blocks, "S0123") {
		c.t.Errorf("%s: after %d updates %d of %d lines are ticked", owner, len(top.Earlier), ticks, lines)
	}
}

// each fails the test unless messages name each finding once, and no other one.
func (c *chain) each(owner string, messages []fakeslack.Message, pattern *regexp.Regexp, ids []string, by func(id string) string) {
	c.t.Helper()
	times := map[string]int{}
	for _, m := range messages {
		for _, name := range pattern.FindAllString(string(m.Blocks), -1) {
			times[name]++
		}
	}
	for _, id := range ids {
		if times[by(id)] != 1 {
			c.t.Errorf("%s: %s is told %d times", owner, by(id), times[by(id)])
		}
		delete(times, by(id))
	}
	for name := range times {
		c.t.Errorf("%s: is told of %s, which is another's", owner, name)
	}
}

// watch samples the heap once a second until the test ends, and returns what tells
// the most that there was.
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
