package audit_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// joined is the contested cluster after a third namespace claimed the host.
func joined() snapshot.Facts {
	f := contested()
	f.Ingresses = append(f.Ingresses, ingress("c", "shop.example.com"))
	return f
}

// Whoever read the cluster long ago and publishes now finds what somebody else stored
// meanwhile, who read it later. It must not put back what it read.
func TestPublishDoesNotPutBackWhatChangedAfterItRead(t *testing.T) {
	for _, c := range []struct {
		name        string
		before, now snapshot.Facts
	}{
		{"a claimant came", contested(), joined()},
		{"a claimant went", joined(), contested()},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newMemory()
			publish(t, store, &world{first: c.before, second: c.before})
			publish(t, store, &world{first: c.now, second: c.now})
			writes := store.writes
			late := &world{first: c.before, second: c.now}
			publish(t, store, late)
			if store.writes != writes {
				t.Errorf("it wrote %d times", store.writes-writes)
			}
			// Whether that claimant came or went is only seen where it is.
			if !slices.Contains(late.reread, snapshot.Part{Kind: snapshot.Ingresses, Namespace: "c"}) {
				t.Errorf("it read again only %v", late.reread)
			}
		})
	}
}

func TestPublishTakesAChangeThatIsThereOnASecondLook(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	_, published := publish(t, store, &world{first: joined(), second: joined()})
	if why := published.Transitions[0].Why; why != audit.ReasonChanged || len(published.Transitions[0].Record.Objects) != 3 {
		t.Errorf("it is %s", why)
	}
}

// A change is no ground to resolve: that takes two looks that agree.
func TestPublishLeavesAloneAChangeThatIsGoneOnASecondLook(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	writes := store.writes
	_, published := publish(t, store, &world{first: joined(), second: moved()})
	if store.writes != writes || len(published.Dropped) != 1 {
		t.Errorf("it wrote %d times, and dropped %q", store.writes-writes, published.Dropped)
	}
}

// Where labels and record are stored one after the other, somebody may be ended in
// between and the cluster turn back.
func TestPublishWritesARecordAgainWhoseLabelsAreOfAnother(t *testing.T) {
	for name, w := range map[string]world{
		"open":     {first: contested(), second: contested()},
		"resolved": {first: moved(), second: moved()},
	} {
		t.Run(name, func(t *testing.T) {
			store := newMemory()
			publish(t, store, &world{first: contested(), second: contested()})
			publish(t, store, &w)
			for id, s := range store.records {
				s.Stale = true
				store.records[id] = s
			}
			writes := store.writes
			publish(t, store, &w)
			publish(t, store, &w)
			if store.writes != writes+1 {
				t.Errorf("it wrote %d times, not once", store.writes-writes)
			}
		})
	}
}

// A result says what became of a finding by this sweep, not what was meant to: who
// tells owners would tell them twice.
func TestResultDoesNotSayThatItOpenedWhatSomebodyElseDid(t *testing.T) {
	store := newMemory()
	var once sync.Once
	store.before = func(string) {
		once.Do(func() {
			other := newMemory()
			publish(t, other, &world{first: contested(), second: contested()})
			for _, s := range other.records {
				store.put(s.Record)
			}
		})
	}
	_, published := publish(t, store, &world{first: contested(), second: contested()})
	if got := published.Transitions[0]; got.Why != audit.ReasonConfirmed || got.Write {
		t.Errorf("it says %s, written %t", got.Why, got.Write)
	}
}

// What somebody else deleted meanwhile is gone, and nothing was resolved.
func TestResultDoesNotSayThatItResolvedWhatSomebodyElseDeleted(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	store.before = func(id string) { delete(store.records, id) }
	_, published := publish(t, store, &world{first: moved(), second: moved()})
	if got := published.Transitions[0]; got.Why != audit.ReasonGone || got.Write || !got.Delete {
		t.Errorf("it says %s, written %t", got.Why, got.Write)
	}
}
