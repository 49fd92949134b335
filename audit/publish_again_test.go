package audit_test

import (
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// contestedHosts is a cluster in which two namespaces claim each of some hosts.
func contestedHosts(hosts ...string) snapshot.Facts {
	var f snapshot.Facts
	for _, host := range hosts {
		for _, namespace := range []string{"a", "b"} {
			i := ingress(namespace, host)
			i.Name = host
			f.Ingresses = append(f.Ingresses, i)
		}
	}
	return f
}

// To decide on one finding again must not take those that are stored for new, and
// theirs for a storm.
func TestOneFindingThatIsDecidedOnAgainIsNoStorm(t *testing.T) {
	store := newMemory()
	few := contestedHosts("one.example.com", "two.example.com")
	publish(t, store, &world{first: few, second: few})
	more := contestedHosts("one.example.com", "two.example.com", "three.example.com")
	w := &world{first: more, second: more}
	p := publisher(store, w)
	p.Reconciliation.MaxNew = 1
	var once sync.Once
	store.before = func(id string) {
		// Somebody else has created it, and not more.
		once.Do(func() {
			bare := audit.Stored{Version: "bare", Bare: true}
			bare.ID, bare.Rule, bare.Subject = id, rules.OneOwnerPerHost().Name, rules.Subject{Kind: "Host", Name: "three.example.com"}
			store.records[id] = bare
		})
	}
	_, published, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{rules.OneOwnerPerHost()}, parse(t, ""), func() time.Time { return now }, p, free{})
	if err != nil || len(published.Failed) > 0 {
		t.Fatalf("error %v, not written %q", err, published.Failed)
	}
	for _, s := range store.records {
		if s.State != audit.Open || s.Storm {
			t.Errorf("%s is %s, storm %t", s.Subject.Name, s.State, s.Storm)
		}
	}
}
