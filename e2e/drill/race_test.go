package drill

import (
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTwoPublishersStartedTogether starts two publishers without a Lease at the same time,
// a hundred times, with nothing stored. Each time there must be one finding per
// violation, each owner must be notified once, and no publisher must fail.
func TestTwoPublishersStartedTogether(t *testing.T) {
	c := published(t, swift, slow)
	applyClaims(t, c, claims{"left": hosts(0, 4), "right": hosts(0, 4)})
	sent := newDeliveries(t)
	pair := []*replica{newReplica(t, c.Config(swift), swift, sent, noLock{}), newReplica(t, c.Config(slow), slow, sent, noLock{})}
	pair[0].sweep(t)
	want, _ := stored(t, c)

	log := followAuditLog(t, c)
	const times, each, owners = 100, 4, 2
	shared := 0
	for i := range times {
		restore(t, c, nil)
		sent.reset()
		var wait sync.WaitGroup
		for _, r := range pair {
			wait.Go(func() { r.sweep(t) })
		}
		wait.Wait()
		got, _ := stored(t, c)
		if diff := cmp.Diff(withoutTimes(want), withoutTimes(got)); diff != "" {
			t.Fatalf("findings of run %d (-of one publisher +of two):\n%s", i, diff)
		}
		if n, twice := sent.count(); n != each*owners || twice != 0 {
			t.Fatalf("run %d: %d notifications, want %d; %d duplicates", i, n, each*owners, twice)
		}
		if sent.check(t); t.Failed() {
			t.Fatalf("run %d", i)
		}
		if sent.by[swift] > 0 && sent.by[slow] > 0 {
			shared++
		}
	}
	created, refused := 0, 0
	for _, user := range []string{swift, slow} {
		for _, e := range log.attempts(t, user) {
			if !e.is("findings") || e.Verb != "create" {
				continue
			}
			if e.ResponseStatus.Code == http.StatusCreated {
				created++
			} else {
				refused++
			}
		}
	}
	t.Logf("in %d runs, %d findings were created and %d creations rejected", times, created, refused)
	if created != times*each {
		t.Errorf("%d findings were created in %d runs, want %d per run", created, times, each)
	}
	t.Logf("in %d of them both sent notifications", shared)
	if refused == 0 || shared == 0 {
		t.Error("the two never had a conflict or never shared notifications")
	}
}
