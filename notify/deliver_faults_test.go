package notify_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// errLost is the error of a message whose response was lost.
var errLost = fmt.Errorf("EOF (%w)", notify.ErrUnconfirmed)

func TestLostResponseIsFollowedByOneCopyAfterAHoldThatGrows(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.answer = func(notify.Recipient) error {
		if strings.Contains(w.slack.sent[len(w.slack.sent)-1], " a ") {
			return errLost
		}
		return nil
	}
	var at []int
	for minute := range 15 * 60 {
		if minute == 5 {
			w.finding(t, "b", audit.EventOpened, "left")
		}
		got := results(w.deliver(t))
		if sent := w.takeSent(); slices.Contains(sent, "left a opened") {
			at = append(at, minute)
		} else if minute == 5 != slices.Contains(sent, "left b opened") {
			t.Errorf("minute %d: sent %q", minute, sent)
		}
		if len(got) == 0 || !strings.HasPrefix(got[0], "left failed EOF") {
			t.Fatalf("minute %d: %q does not say that one may not have arrived", minute, got)
		}
	}
	if diff := cmp.Diff([]int{0, 10, 70, 430, 790}, at); diff != "" {
		t.Errorf("sent at minutes (-want +got):\n%s", diff)
	}
	w.slack.answer = nil
	w.now = w.now.Add(6 * time.Hour)
	w.deliver(t)
	w.expect(t, "left a details", "left a opened")
	if m := w.store.held["a"].Notifications[0]; m.Attempt != (audit.Attempt{}) || m.Error != "" || m.Pending != "" {
		t.Errorf("stored: %+v", m)
	}
}

func TestAllAttemptsOfAMessageHaveOneKey(t *testing.T) {
	w := newFixture()
	for _, name := range []string{"a", "b"} {
		w.finding(t, name, audit.EventOpened, "left")
	}
	w.slack.answer = func(notify.Recipient) error { return errLost }
	w.deliver(t)
	w.finding(t, "c", audit.EventOpened, "left")
	w.now = w.now.Add(10 * time.Minute)
	w.deliver(t)
	if k := w.slack.keys; len(k) != 3 || k[0] == "" || k[0] != k[2] || k[1] == k[0] {
		t.Errorf("keys %q of %q", k, w.slack.sent)
	}
}

func TestLostDetailsAreNotALostOpening(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.answer = func(notify.Recipient) error {
		if w.slack.count == 2 {
			return errLost
		}
		return nil
	}
	w.deliver(t)
	w.deliver(t)
	w.expect(t, "left a details", "left a opened")
	w.now = w.now.Add(10 * time.Minute)
	w.deliver(t)
	w.expect(t, "left a details")
}

func TestEndAfterALostOpeningDoesNotWait(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.answer = func(notify.Recipient) error { return errLost }
	w.deliver(t)
	w.slack.answer = nil
	w.takeSent()
	l := &life{fixture: w, there: map[string][]string{}}
	l.reconcile(t)
	w.deliver(t)
	w.expect(t, "left a resolved")
}

func TestReminderThatMayHaveArrivedIsNotRepeated(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.deliver(t)
	w.takeSent()
	w.slack.answer = func(notify.Recipient) error { return errLost }
	w.now = w.now.Add(24 * time.Hour)
	for range 30 {
		w.deliver(t)
	}
	w.expect(t, "left a reminder")
}

// A publisher that is paused while Slack accepts its message finds that another one has
// taken over, and changes nothing.
func TestLateRecordDoesNotOverwriteANewerOne(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.answer = func(notify.Recipient) error {
		if w.slack.count > 1 {
			return nil
		}
		w.slack.mu.Unlock()
		defer w.slack.mu.Lock()
		w.resolve(t, "a")
		stored, _, _ := w.store.Load(t.Context())
		w.now = w.now.Add(time.Minute)
		w.deliverer("other", true).Deliver(t.Context(), stored)
		return nil
	}
	got := results(w.deliver(t))
	if m := w.store.held["a"].Notifications[0]; m.Last != audit.EventResolved || m.Pending != "" || m.Claim.By != "" {
		t.Errorf("stored: %+v", m)
	}
	if len(got) == 0 || !strings.Contains(got[0], "another publisher took over") {
		t.Errorf("deliveries: %q", got)
	}
	w.takeSent()
	w.deliver(t)
	w.expect(t)
}

func TestClocksElevenMinutesApartSendNothingTwice(t *testing.T) {
	for _, apart := range []time.Duration{11 * time.Minute, -11 * time.Minute} {
		w := newFixture()
		w.finding(t, "a", audit.EventOpened, "left")
		w.slack.answer = func(notify.Recipient) error {
			if w.slack.count > 1 {
				return nil
			}
			w.slack.mu.Unlock()
			defer w.slack.mu.Lock()
			stored, _, _ := w.store.Load(t.Context())
			other := w.deliverer("other", false)
			other.Clock = func() time.Time { return w.now.Add(apart) }
			other.Deliver(t.Context(), stored)
			return nil
		}
		stored, _, _ := w.store.Load(t.Context())
		w.deliverer("me", false).Deliver(t.Context(), stored)
		w.expect(t, "left a details", "left a opened")
	}
}

func TestClaimExpiresByTheClockOfTheProcessThatSeesIt(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	s := w.store.held["a"]
	n := s.Notifications[0]
	n.Claim = audit.Claim{By: "killed", At: w.now.Add(20 * time.Minute)}
	s.SetNotification(n)
	w.store.held["a"] = s
	memory := &notify.Memory{}
	sweep := func() {
		stored, _, _ := w.store.Load(t.Context())
		d := w.deliverer("me", false)
		d.Memory = memory
		d.Deliver(t.Context(), stored)
	}
	sweep()
	w.now = w.now.Add(9 * time.Minute)
	sweep()
	w.expect(t)
	w.now = w.now.Add(time.Minute)
	sweep()
	w.expect(t, "left a details", "left a opened")
}

// refusing is a store that can't update some findings.
type refusing struct {
	*fakeStore
	refuse func(audit.Stored) bool
}

func (s refusing) Update(ctx context.Context, st audit.Stored) (audit.Stored, error) {
	if s.refuse(st) {
		return audit.Stored{}, errors.New("admission webhook denied the request")
	}
	return s.fakeStore.Update(ctx, st)
}

func TestFindingThatCannotBeUpdatedIsNamedAndTheOthersAreSent(t *testing.T) {
	w := newFixture()
	for _, name := range []string{"a", "b", "c"} {
		w.finding(t, name, audit.EventOpened, "left")
	}
	stored, _, _ := w.store.Load(t.Context())
	d := w.deliverer("me", true)
	d.Store = refusing{w.store, func(s audit.Stored) bool { return s.ID == "b" }}
	got := results(d.Deliver(t.Context(), stored))
	want := []string{"left failed finding b could not be updated and is left out: admission webhook denied the request", "left sent "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	w.expect(t, "left a details", "left a opened", "left c details", "left c opened")
}

// What Slack has accepted and the API server could not store is recorded by the next
// sweep of the same process.
func TestAcceptedMessageThatCouldNotBeRecordedIsNotSentAgain(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	memory, down := &notify.Memory{}, false
	w.slack.answer = func(notify.Recipient) error { down = true; return nil }
	sweep := func() []string {
		w.now = w.now.Add(10 * time.Minute)
		stored, _, _ := w.store.Load(t.Context())
		d := w.deliverer("me", true)
		d.Memory, d.Store = memory, refusing{w.store, func(audit.Stored) bool { return down }}
		return results(d.Deliver(t.Context(), stored))
	}
	got := sweep()
	if len(got) != 2 || !strings.HasPrefix(got[0], "left failed finding a could not be recorded after it was sent") {
		t.Errorf("deliveries: %q", got)
	}
	w.slack.answer = nil
	sweep()
	down = false
	sweep()
	sweep()
	w.expect(t, "left a details", "left a opened")
	if m := w.store.held["a"].Notifications[0]; m.Last != audit.EventOpened || m.Pending != "" || m.Claim.By != "" {
		t.Errorf("stored: %+v", m)
	}
}

// slow is a store with a limit of writes a second.
type slow struct {
	*fakeStore
	turn chan struct{}
	gap  time.Duration
}

func (s slow) Update(ctx context.Context, st audit.Stored) (audit.Stored, error) {
	s.turn <- struct{}{}
	time.Sleep(s.gap)
	<-s.turn
	if err := ctx.Err(); err != nil {
		return audit.Stored{}, err
	}
	return s.fakeStore.Update(ctx, st)
}

// An owner with more findings than can be claimed in the time of a sweep is notified of
// the oldest in each sweep, and of none twice.
func TestMoreThanOneSweepCanWriteMakesProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture()
		const findings = 2000
		for i := range findings {
			w.finding(t, fmt.Sprintf("f%04d", i), audit.EventOpened, "left")
			s := w.store.held[fmt.Sprintf("f%04d", i)]
			s.OpenedAt = start.Add(-time.Duration(i) * time.Minute) // the last is the oldest
			w.store.held[s.ID] = s
		}
		opened := map[string]int{}
		for sweep := 1; len(opened) < findings; sweep++ {
			stored, _, _ := w.store.Load(t.Context())
			d := w.deliverer(fmt.Sprint("job-", sweep), true)
			d.Store = slow{w.store, make(chan struct{}, 1), time.Second / 7}
			d.Deliver(t.Context(), stored)
			news := 0
			for _, line := range w.takeSent() {
				if name, ok := strings.CutSuffix(line, " opened"); ok {
					opened[name]++
					news++
				}
			}
			if news == 0 || sweep > 10 {
				t.Fatalf("sweep %d: %d of %d, %d of them new", sweep, len(opened), findings, news)
			}
			if sweep == 1 && (opened["left f1999"] != 1 || opened["left f0000"] != 0) {
				t.Error("the oldest do not come first")
			}
		}
		for name, n := range opened {
			if n != 1 {
				t.Errorf("%s: %d times", name, n)
			}
		}
	})
}
