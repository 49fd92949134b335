package slack_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/slack/slacktest"
)

// shelf is a store in memory.
type shelf struct {
	mu    sync.Mutex
	held  map[string]audit.Stored
	count int
}

func (s *shelf) Load(context.Context) (out []audit.Stored, _ []string, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.held {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b audit.Stored) int { return strings.Compare(a.ID, b.ID) })
	return out, nil, nil
}

func (s *shelf) Get(_ context.Context, id string) (audit.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.held[id]; ok {
		return r, nil
	}
	return audit.Stored{}, audit.ErrNotStored
}

func (s *shelf) Create(ctx context.Context, r audit.Record) (audit.Stored, error) {
	return s.Update(ctx, audit.Stored{Record: r})
}

func (s *shelf) Update(_ context.Context, r audit.Stored) (audit.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[r.ID].Version != r.Version {
		return audit.Stored{}, audit.ErrConflict
	}
	s.count++
	r.Version = fmt.Sprint(s.count)
	s.held[r.ID] = r
	return r, nil
}

func (s *shelf) Delete(context.Context, audit.Stored) error { return nil }

// estate is some owners with findings, their Slack, and who tells them.
type estate struct {
	*notify.Deliverer
	store *shelf
	slack *slacktest.Server
	clock *ticker
	of    map[string][]string // IDs by owner
}

// newEstate has a finding or more for each owner, as many as sizes says by turns.
func newEstate(t *testing.T, owners int, sizes ...int) *estate {
	t.Helper()
	e := &estate{store: &shelf{held: map[string]audit.Stored{}}, clock: newTicker(), of: map[string][]string{}}
	config := slacktest.Config{Token: token, Channels: map[string]slacktest.Membership{}, Allowed: []string{mention}, Now: e.clock.Now}
	for o := range owners {
		owner := fmt.Sprintf("team-%03d", o)
		config.Channels["C"+strings.ToUpper(owner[5:])+"X"] = slacktest.Member
		for n := range sizes[o%len(sizes)] {
			r := namespace(fmt.Sprintf("%s-%03d", owner, n), "Ingress", owner)
			r.Told = []audit.Told{{Sender: "slack", Owner: owner, Due: audit.EventOpened}}
			if _, err := e.store.Create(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			e.of[owner] = append(e.of[owner], r.ID)
		}
	}
	e.slack = slacktest.Start(t, config)
	e.Deliverer = &notify.Deliverer{
		Store: e.store, Senders: []notify.Sender{newBot(e.slack, e.clock)}, Cluster: "prod-eu-1", Me: "me", Leased: true,
		RemindAfter: 24 * time.Hour, Clock: e.clock.Now,
		Routes: func(_, owner string) []notify.Route {
			return []notify.Route{{Sender: "slack", To: notify.Recipient{Owner: owner, Address: channelOf(owner), Mention: mention}}}
		},
	}
	return e
}

func channelOf(owner string) string { return "C" + owner[5:] + "X" }

// sweep delivers what is due, and returns what became of it.
func (e *estate) sweep(t *testing.T) map[audit.DeliveryResult]int {
	t.Helper()
	stored, _, _ := e.store.Load(t.Context())
	out := map[audit.DeliveryResult]int{}
	for _, d := range e.Deliver(t.Context(), stored) {
		out[d.Result]++
		if d.Result == audit.Refused {
			t.Errorf("%s: refused: %s", d.Owner, d.Reason)
		}
	}
	return out
}

// mend resolves the findings of some owners.
func (e *estate) mend(t *testing.T, mended func(owner string) bool) {
	t.Helper()
	stored, _, _ := e.store.Load(t.Context())
	for _, s := range stored {
		if mended(s.Owners[0]) {
			s.Record = resolved(s.Record, audit.Mended)
			m := s.Told[0]
			m.Due = audit.EventResolved
			s.SetTold(m)
			if _, err := e.store.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// named counts how many findings of an owner messages name how often, by the
// pattern of what names one, and fails the test where they name another's.
func (e *estate) named(t *testing.T, owner string, messages []slacktest.Message, pattern *regexp.Regexp, by func(id string) string) map[int]int {
	t.Helper()
	seen := map[string]int{}
	for _, m := range messages {
		for _, name := range pattern.FindAllString(string(m.Blocks), -1) {
			seen[name]++
		}
	}
	times := map[int]int{}
	for _, id := range e.of[owner] {
		times[seen[by(id)]]++
		delete(seen, by(id))
	}
	if len(seen) > 0 {
		t.Errorf("%s is told of others' findings: %v", owner, seen)
	}
	return times
}

var (
	idPattern      = regexp.MustCompile(`default-deny-present-[0-9a-f]{16}`)
	subjectPattern = regexp.MustCompile(`team-\d{3}-\d{3} \(Ingress\)`)
)

func byID(id string) string { return id }

func (e *estate) subject(id string) string { return e.store.held[id].Subject.String() }

// inLimits fails the test if Slack refused anything, or nearly would have.
func (e *estate) inLimits(t *testing.T) {
	t.Helper()
	if r := e.slack.Refusals(); len(r) > 0 {
		t.Errorf("%d were refused, the first: %+v", len(r), r[0])
	}
	if size := e.slack.Largest(); size.Characters > 9000 || size.Blocks > 40 {
		t.Errorf("the largest message has %+v", size)
	}
}

// Owners with one finding or three hundred hear of each once, in their channel,
// with all there is to know in the thread, and of the end of each in that thread.
func TestEveryOwnerIsToldOfEachOnce(t *testing.T) {
	owners := 200
	if testing.Short() {
		owners = 20
	}
	e := newEstate(t, owners, 1, 2, 9, 30, 300)
	if got := e.sweep(t); got[audit.Sent] != owners || len(got) != 1 {
		t.Fatalf("the first sweep: %v", got)
	}
	e.mend(t, func(string) bool { return true })
	if got := e.sweep(t); got[audit.Sent] != owners || len(got) != 1 {
		t.Fatalf("the second sweep: %v", got)
	}
	sent := len(e.slack.Requests())
	e.sweep(t)
	if n := len(e.slack.Requests()); n != sent {
		t.Errorf("there is nothing to tell, and %d calls were made", n-sent)
	}
	e.inLimits(t)
	byChannel := map[string][]slacktest.Message{}
	for _, m := range e.slack.Messages() {
		byChannel[m.Channel] = append(byChannel[m.Channel], m)
	}
	for owner, ids := range e.of {
		messages := byChannel[channelOf(owner)]
		if len(messages) == 0 || messages[0].Thread != "" || len(messages[0].Earlier) != 1 {
			t.Fatalf("%s: the first message is not what opens, or was not brought up to date once", owner)
		}
		var details, ends []slacktest.Message
		for _, m := range messages[1:] {
			switch {
			case m.Thread != messages[0].TS:
				t.Errorf("%s: a message stands beneath %q", owner, m.Thread)
			case strings.Contains(string(m.Blocks), `"Resolved"`):
				ends = append(ends, m)
			default:
				details = append(details, m)
			}
		}
		if got := e.named(t, owner, details, idPattern, byID); got[1] != len(ids) {
			t.Errorf("%s: how many findings have how many details: %v of %d", owner, got, len(ids))
		}
		if got := e.named(t, owner, ends, subjectPattern, e.subject); got[1] != len(ids) {
			t.Errorf("%s: how many findings have how many ends: %v of %d", owner, got, len(ids))
		}
	}
}

// Slack is down for three sweeps: then everything arrives once, and what was mended
// meanwhile as mended only.
func TestSlackIsDown(t *testing.T) {
	e := newEstate(t, 10, 1, 3)
	e.slack.Faults(func(slacktest.Request) slacktest.Fault { return slacktest.Fault{Status: 503} })
	for n := range 3 {
		if got := e.sweep(t); got[audit.Failed] != 10 {
			t.Fatalf("sweep %d: %v", n, got)
		}
		e.clock.now = e.clock.now.Add(10 * time.Minute)
	}
	even := func(owner string) bool { return owner[len(owner)-1]%2 == 0 }
	e.mend(t, even)
	e.slack.Faults(nil)
	if got := e.sweep(t); got[audit.Sent] != 10 || len(got) != 1 {
		t.Fatalf("the sweep after it: %v", got)
	}
	e.inLimits(t)
	for owner, ids := range e.of {
		top := e.slack.In(channelOf(owner))
		if len(top) != 1 {
			t.Fatalf("%s: %d messages", owner, len(top))
		}
		if got := strings.Contains(string(top[0].Blocks), `"Resolved"`); got != even(owner) {
			t.Errorf("%s: mended is %v, and %v was told", owner, even(owner), got)
		}
		if got := e.named(t, owner, top, subjectPattern, e.subject); got[1] != len(ids) {
			t.Errorf("%s: %v of %d findings are named", owner, got, len(ids))
		}
	}
}
