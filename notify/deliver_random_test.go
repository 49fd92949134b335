package notify_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

// life drives a fixture at random: findings appear, change and disappear, the receiver is
// down or refuses messages, publishers are killed, and two of them may run at once.
type life struct {
	*fixture
	random *rand.Rand
	there  map[string][]string // owners of each violation
	killed int

	repeats int
}

func (l *life) reconcile(t *testing.T) {
	t.Helper()
	stored, _, _ := l.store.Load(t.Context())
	records := make([]audit.Record, len(stored))
	held := map[string]audit.Stored{}
	for i, s := range stored {
		records[i], held[s.ID] = s.Record, s
	}
	ev := &audit.Evaluation{Rules: []audit.Outcome{{Rule: "probe", Status: audit.RuleRan}}}
	for id, owners := range l.there {
		f := audit.Finding{ID: id, Rule: "probe", Subject: rules.Subject{Kind: "Host", Name: id}, Severity: rules.High, Owners: owners, State: audit.StateOpen}
		ev.Findings = append(ev.Findings, f)
	}
	r := audit.Reconciler{
		Now: l.now, Keep: 1000 * time.Hour, Hold: func(string) audit.Hold { return audit.Hold{} }, Senders: notify.Routes(l.routes).Senders,
	}
	for _, tr := range r.Reconcile(records, ev) {
		if !tr.Write {
			continue
		}
		s := held[tr.Record.ID]
		s.Record = tr.Record
		err := error(nil)
		if tr.New {
			_, err = l.store.Create(t.Context(), tr.Record)
		} else {
			_, err = l.store.Update(t.Context(), s)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// turn makes a few random changes.
func (l *life) turn() {
	for i := range 4 {
		id := fmt.Sprintf("f%d", i)
		switch l.random.IntN(3) {
		case 0:
			delete(l.there, id)
		case 1:
			owners := [][]string{{"left"}, {"right"}, {"left", "right"}, {"nobody", "right"}, {"nobody", "stray"}}[i]
			l.there[id] = owners
		}
	}
}

// faults makes the receiver fail now and then, and kills publishers.
func (l *life) faults(stores []*killable, deadly bool) {
	var mu sync.Mutex
	chance := func(n int) bool {
		mu.Lock()
		defer mu.Unlock()
		return l.random.IntN(n) == 0
	}
	down := chance(4)
	l.slack.refuse = func(to notify.Recipient) error {
		switch {
		case down && chance(2):
			return errors.New("503")
		case to.Owner != "platform" && chance(20):
			return notify.Refused("channel_not_found")
		}
		return nil
	}
	l.slack.answer = func(notify.Recipient) error {
		if deadly && chance(8) {
			for _, s := range stores {
				if !s.isDead() {
					l.killed++
					s.kill()
				}
			}
		}
		return nil
	}
}

// sweep lets one publisher, or two at the same time, deliver.
func (l *life) sweep(t *testing.T, name string, two, leased, deadly bool) {
	t.Helper()
	l.now = l.now.Add(11 * time.Minute) // longer than a claim lasts
	l.turn()
	l.reconcile(t)
	stores := []*killable{{fakeStore: l.store}}
	if two {
		stores = append(stores, &killable{fakeStore: l.store})
	}
	l.faults(stores, deadly)
	stored, _, _ := l.store.Load(t.Context())
	var wait sync.WaitGroup
	outcomes := make([][]audit.Delivery, len(stores))
	for i, s := range stores {
		d := l.deliverer(fmt.Sprintf("%s-%d", name, i), leased)
		d.Store = s
		wait.Go(func() { outcomes[i] = d.Deliver(t.Context(), stored) })
	}
	wait.Wait()
	l.slack.refuse, l.slack.answer = nil, nil
	l.success(t, slices.Concat(outcomes...), slices.ContainsFunc(stores, (*killable).isDead))
}

// success checks that a delivery is only a success if nothing is due.
func (l *life) success(t *testing.T, outcomes []audit.Delivery, killed bool) {
	t.Helper()
	if killed || len(audit.Undelivered(outcomes)) > 0 {
		return
	}
	for _, s := range l.store.held {
		for _, n := range s.Notifications {
			if n.Pending != "" && s.DampedUntil(&n, l.now).IsZero() {
				t.Errorf("a success, and %s has %+v: %+v", s.ID, n, outcomes)
			}
		}
	}
}

func TestDeliveryNeitherLosesNorDoubles(t *testing.T) {
	for _, c := range []struct {
		name          string
		two, leased   bool
		deadly        bool
		seeds, rounds int
	}{
		{name: "one publisher", seeds: 100, rounds: 20, leased: true},
		{name: "two publishers without a lease", seeds: 100, rounds: 20, two: true},
		{name: "one that is killed after an answer", seeds: 100, rounds: 20, leased: true, deadly: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			killed, repeats := 0, 0
			for seed := range uint64(c.seeds) {
				l := &life{fixture: newFixture(), random: rand.New(rand.NewPCG(seed, 1)), there: map[string][]string{}}
				for round := range c.rounds {
					l.sweep(t, fmt.Sprint(round), c.two, c.leased, c.deadly)
				}
				l.there = map[string][]string{}
				for range 3 {
					l.now = l.now.Add(2 * time.Hour)
					l.reconcile(t)
					l.deliver(t)
				}
				if problem := l.check(); problem != "" {
					t.Fatalf("seed %d: %s", seed, problem)
				}
				killed, repeats = killed+l.killed, repeats+l.repeats
			}
			if c.deadly && (killed == 0 || repeats == 0) {
				t.Errorf("%d publishers were killed, and %d messages repeated", killed, repeats)
			}
		})
	}
}

// check returns what is wrong with the messages, once all faults are over.
func (l *life) check() string {
	for _, s := range l.store.held {
		for _, m := range s.Notifications {
			if m.Pending != "" || m.Claim.By != "" || m.Notified() {
				return fmt.Sprintf("%s still has %+v", s.ID, m)
			}
		}
	}
	const mostInOneMessage = 8
	times, repeats := map[string]int{}, 0
	knows := map[string]bool{}
	for i, line := range l.slack.sent {
		words := strings.Fields(line)
		key, event := words[0]+" "+words[1], audit.Event(words[2])
		if event == audit.EventReminder {
			continue
		}
		if times[fmt.Sprintf("%s %d", line, l.slack.reopened[i])]++; times[fmt.Sprintf("%s %d", line, l.slack.reopened[i])] > 1 {
			repeats++
		}
		switch event {
		case audit.EventDetails, audit.EventChanged:
			if !knows[key] {
				return line + ": it was never announced"
			}
		default:
			knows[key] = event == audit.EventOpened || event == audit.EventReopened
		}
	}
	for key, still := range knows {
		if still {
			return key + " was never resolved"
		}
	}
	if repeats > l.killed*mostInOneMessage {
		return fmt.Sprintf("%d messages repeated, and %d publishers were killed", repeats, l.killed)
	}
	l.repeats = repeats
	return ""
}
