package notify_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

func TestNewlyPendingEventStaysPending(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.answer = func(notify.Recipient) error {
		if w.slack.count == 1 {
			w.resolve(t, "a")
		}
		return nil
	}
	w.deliver(t)
	if m := w.store.held["a"].Notifications[0]; m.Pending != audit.EventResolved || m.Last != audit.EventOpened {
		t.Errorf("stored: %+v", m)
	}
	w.takeSent()
	w.deliver(t)
	w.expect(t, "left a resolved")
}

func TestFallbackDoesNotUseTheOwnersThread(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.deliver(t)
	w.takeSent()
	w.resolve(t, "a")
	w.slack.refuse = func(to notify.Recipient) error {
		if to.Owner == "left" {
			return notify.Refused("is_archived")
		}
		return nil
	}
	w.deliver(t)
	if diff := cmp.Diff([]string{"C0/"}, w.slack.where); diff != "" {
		t.Errorf("where (-want +got):\n%s", diff)
	}
	w.expect(t, "left a resolved")
}

func TestSentItemsAreRecordedAfterTheSweepIsCancelled(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	ctx, cancel := context.WithCancelCause(t.Context())
	w.slack.answer = func(notify.Recipient) error {
		cancel(errors.New("stopped"))
		return nil
	}
	stored, _, _ := w.store.Load(ctx)
	d := w.deliverer("me", true)
	d.Store = expiring{w.store}
	got := results(d.Deliver(ctx, stored))
	if diff := cmp.Diff([]string{"left failed stopped"}, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if m := w.store.held["a"].Notifications[0]; m.Last != audit.EventOpened || m.Pending != audit.EventDetails {
		t.Errorf("stored: %+v", m)
	}
}

// expiring is a store whose writes fail once the context has ended, as with an API server.
type expiring struct{ *fakeStore }

func (c expiring) Update(ctx context.Context, s audit.Stored) (audit.Stored, error) {
	if err := ctx.Err(); err != nil {
		return audit.Stored{}, err
	}
	return c.fakeStore.Update(ctx, s)
}

func TestDeletedFindingDoesNotHoldUpOthers(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.finding(t, "b", audit.EventOpened, "left")
	w.slack.answer = func(notify.Recipient) error {
		if s, ok := w.store.held["a"]; ok {
			return w.store.Delete(t.Context(), s)
		}
		return nil
	}
	if diff := cmp.Diff([]string{"left sent "}, results(w.deliver(t))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if m := w.store.held["b"].Notifications[0]; m.Pending != "" || m.Claim.By != "" || m.Last != audit.EventOpened {
		t.Errorf("stored: %+v", m)
	}
}

func TestFallbackHasItsOwnThread(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.refuse = func(to notify.Recipient) error {
		if to.Owner == "left" {
			return notify.Refused("is_archived")
		}
		return nil
	}
	w.deliver(t)
	w.takeSent()
	w.resolve(t, "a")
	w.deliver(t)
	if diff := cmp.Diff([]string{"C0/1"}, w.slack.where); diff != "" {
		t.Errorf("where (-want +got):\n%s", diff)
	}
}

func TestUnavailableFallbackIsRetriedInTheNextSweep(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.refuse = func(to notify.Recipient) error {
		if to.Owner == "left" {
			return notify.Refused("is_archived")
		}
		return errors.New("down")
	}
	want := []string{"left refused is_archived", "platform failed down"}
	if diff := cmp.Diff(want, results(w.deliver(t))); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	w.slack.refuse = nil
	w.deliver(t)
	w.expect(t, "left a details", "left a opened")
}

func TestUnreachablePreviousOwnersAreForgotten(t *testing.T) {
	w := newFixture()
	for _, name := range []string{"a", "b"} {
		w.finding(t, name, audit.EventOpened, "stray")
	}
	w.deliver(t)
	w.takeSent()
	for name, at := range map[string]audit.MessageRef{"a": {Channel: "C-stray", Message: "1"}, "b": w.store.held["b"].Notifications[0].Message} {
		s := w.store.held[name]
		s.Owners = []string{"right"}
		m := s.Notifications[0]
		m.Pending, m.Message = audit.EventReleased, at
		s.SetNotification(m)
		w.store.held[name] = s
	}
	w.deliver(t)
	w.expect(t, "stray b released")
	for _, name := range []string{"a", "b"} {
		if m := w.store.held[name].Notifications[0]; m.Last != audit.EventReleased || m.DeliveryState() != audit.DeliveryIdle {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestUnsentItemsAreReleased(t *testing.T) {
	w := newFixture()
	w.finding(t, "a", audit.EventOpened, "left")
	ctx, cancel := context.WithCancel(t.Context())
	w.slack.refuse = func(notify.Recipient) error {
		cancel()
		return errors.New("too late")
	}
	stored, _, _ := w.store.Load(ctx)
	d := w.deliverer("me", false)
	d.Store = expiring{w.store}
	d.Deliver(ctx, stored)
	if m := w.store.held["a"].Notifications[0]; m.Claim.By != "" || m.Pending != audit.EventOpened {
		t.Errorf("stored: %+v", m)
	}
}
