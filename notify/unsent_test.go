package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

func TestWhatADeadPublisherClaimedIsNoSuccess(t *testing.T) {
	w := newFixture()
	for _, name := range []string{"a", "b", "c"} {
		w.finding(t, name, audit.EventOpened, "left")
	}
	for _, name := range []string{"a", "b"} {
		s := w.store.held[name]
		n := s.Notifications[0]
		n.Claim = audit.Claim{By: "killed", At: w.now}
		s.SetNotification(n)
		if _, err := w.store.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	// A publisher that has just started can't tell from the time, by less than clocks differ.
	does := w.now.Add(70 * time.Minute).UTC().Format(time.RFC3339)
	w.now = w.now.Add(time.Minute)
	stored, _, _ := w.store.Load(t.Context())
	got := w.deliverer("me", false).Deliver(t.Context(), stored)
	failed := audit.Undelivered(got)
	if len(failed) != 1 || !strings.HasPrefix(failed[0].Reason, "2 events claimed by another publisher, killed, that has not sent it: a sweep after "+does) {
		t.Errorf("deliveries %+v", got)
	}
	w.expect(t, "left c details", "left c opened")
}

func TestWhatALivePublisherIsSendingIsASuccess(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	s := w.store.held["a"]
	n := s.Notifications[0]
	n.Claim = audit.Claim{By: "other", At: w.now}
	s.SetNotification(n)
	s, err := w.store.Update(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	stored, _, _ := w.store.Load(t.Context())
	done := time.AfterFunc(20*time.Millisecond, func() {
		n.Claim, n.Pending, n.Last = audit.Claim{}, "", audit.EventOpened
		s.SetNotification(n)
		_, _ = w.store.Update(t.Context(), s)
	})
	defer done.Stop()
	if got := w.deliverer("me", false).Deliver(t.Context(), stored); len(audit.Undelivered(got)) > 0 {
		t.Errorf("deliveries %+v", got)
	}
}
