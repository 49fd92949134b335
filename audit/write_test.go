package audit_test

import (
	"context"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// overtaken publishes what a slow publisher saw first; before its first write, another
// publisher that sees the cluster as it is then publishes, too.
func overtaken(t *testing.T, store *memory, slow *world, then snapshot.Facts) (*audit.Result, *audit.Published) {
	t.Helper()
	store.before = func(string) {
		store.before = nil
		publish(t, store, &world{first: then, second: then})
		slow.second = then
	}
	return publish(t, store, slow)
}

func TestAStaleDecisionAfterAConflictReopensNothing(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	// The slow publisher has something to write, for which it saw the host contested.
	slow := contested()
	slow.Ingresses = append(slow.Ingresses, ingress("c", "shop.example.com"))
	_, published := overtaken(t, store, &world{first: slow, second: slow}, moved())
	if got := states(store); got[audit.StateResolved] != 1 {
		t.Errorf("stored %v, transitions %+v", got, published.Transitions)
	}
	for _, s := range store.records {
		if s.Reopened != 0 {
			t.Errorf("reopened %d times", s.Reopened)
		}
	}
}

func TestAStaleDecisionAfterAConflictResolvesNothing(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	publish(t, store, &world{first: moved(), second: moved()})
	for id, s := range store.records { // old enough for the slow publisher to delete it
		s.ResolvedAt = now.Add(-48 * time.Hour)
		store.records[id] = s
	}
	overtaken(t, store, &world{first: moved(), second: moved()}, contested())
	if got := states(store); got[audit.StateOpen] != 1 {
		t.Errorf("stored %v", got)
	}
}

func TestAStaleDecisionAfterAConflictOpensNothingThatWasDeleted(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	slow := contested()
	slow.Ingresses = append(slow.Ingresses, ingress("c", "shop.example.com"))
	w := &world{first: slow, second: slow}
	store.before = func(string) {
		store.before = nil
		clear(store.records)
		w.second = moved()
	}
	publish(t, store, w)
	if len(store.records) != 0 {
		t.Errorf("stored %v", states(store))
	}
}

func TestWhatCannotBeReadAgainAfterAConflictIsLeftAlone(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	slow := contested()
	slow.Ingresses = append(slow.Ingresses, ingress("c", "shop.example.com"))
	w := &world{first: slow, second: slow}
	store.before = func(string) {
		store.before = nil
		publish(t, store, &world{first: moved(), second: moved()})
		w.unreadable = true
	}
	res, _ := publish(t, store, w)
	if got := states(store); got[audit.StateResolved] != 1 || res.Complete() {
		t.Errorf("stored %v, complete %v", got, res.Complete())
	}
}

func TestManyConflictsAreConfirmedTogether(t *testing.T) {
	store, w := newMemory(), &world{first: snapshot.Facts{}}
	for _, ns := range []string{"a", "b"} {
		for _, host := range []string{"1.example.com", "2.example.com", "3.example.com"} {
			in := ingress(ns, host)
			in.Name = host
			w.first.Ingresses = append(w.first.Ingresses, in)
		}
	}
	w.second = w.first
	set, conflicted := []*rules.Rule{hosts.Rule()}, map[string]bool{}
	store.before = func(id string) {
		store.mu.Lock()
		defer store.mu.Unlock()
		if s, ok := store.records[id]; ok && !conflicted[id] {
			conflicted[id] = true
			s.State, s.ResolvedAt = audit.StateResolved, now
			store.put(s.Record)
		}
	}
	if _, _, err := audit.SweepAndPublish(context.Background(), w, set, parse(t, ""), ticking(), publisher(store, w), free{}); err != nil {
		t.Fatal(err)
	}
	third := w.first
	third.Ingresses = append(third.Ingresses, ingress("c", "1.example.com"), ingress("c", "2.example.com"), ingress("c", "3.example.com"))
	w = &world{first: third, second: third}
	if _, _, err := audit.SweepAndPublish(context.Background(), w, set, parse(t, ""), ticking(), publisher(store, w), free{}); err != nil {
		t.Fatal(err)
	}
	if w.rereads != 2 {
		t.Errorf("the cluster was read again %d times, want once before the writes and once after their conflicts", w.rereads)
	}
}
