package audit_test

import (
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
			publish(t, store, &world{first: c.before, second: c.now})
			if store.writes != writes {
				t.Errorf("it wrote %d times", store.writes-writes)
			}
		})
	}
}

func TestPublishTakesAChangeThatIsThereOnASecondLook(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	_, published := publish(t, store, &world{first: joined(), second: joined()})
	if why := published.Transitions[0].Why; why != audit.Changed || len(published.Transitions[0].Record.Objects) != 3 {
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
				s.Torn = true
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
