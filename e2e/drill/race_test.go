package drill

import (
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTwoPublishersStartedTogether lets two publishers without a lease meet a
// hundred times where nothing is stored yet: there is one finding per violation
// every time, which one of them opened, each owner is told of it once, and neither
// is left with an error.
func TestTwoPublishersStartedTogether(t *testing.T) {
	c := published(t, swift, slow)
	applyClaims(t, c, claims{"left": hosts(0, 4), "right": hosts(0, 4)})
	told := newDeliveries(t)
	pair := []*replica{newReplica(t, c.Config(swift), swift, told, noLock{}), newReplica(t, c.Config(slow), slow, told, noLock{})}
	pair[0].sweep(t)
	want, _ := stored(t, c)

	log := followAuditLog(t, c)
	const times, each, owners = 100, 4, 2
	shared := 0
	for i := range times {
		restore(t, c, nil)
		told.reset()
		var wait sync.WaitGroup
		for _, r := range pair {
			wait.Go(func() { r.sweep(t) })
		}
		wait.Wait()
		got, _ := stored(t, c)
		if diff := cmp.Diff(withoutTimes(want), withoutTimes(got)); diff != "" {
			t.Fatalf("findings of run %d (-of one publisher +of two):\n%s", i, diff)
		}
		if n, twice := told.count(); n != each*owners || twice != 0 {
			t.Fatalf("run %d: owners are told %d things of %d, %d of them twice", i, n, each*owners, twice)
		}
		if told.check(t); t.Failed() {
			t.Fatalf("run %d", i)
		}
		if told.by[swift] > 0 && told.by[slow] > 0 {
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
	t.Logf("in %d runs %d findings were created, and %d creations refused", times, created, refused)
	if created != times*each {
		t.Errorf("%d findings were created in %d runs, not %d each", created, times, each)
	}
	t.Logf("in %d of them both told owners something", shared)
	if refused == 0 || shared == 0 {
		t.Error("the two never met")
	}
}
