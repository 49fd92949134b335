package notify_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

func TestWhatBecomesDueMeanwhileStaysDue(t *testing.T) {
	w := newWorld()
	w.finding(t, "a", audit.EventOpened, "left")
	w.slack.answer = func(notify.Recipient) error {
		if w.slack.sent == 1 {
			w.resolve(t, "a")
		}
		return nil
	}
	w.deliver(t)
	if m := w.store.held["a"].Told[0]; m.Due != audit.EventResolved || m.Last != audit.EventOpened {
		t.Errorf("stored: %+v", m)
	}
	w.heard()
	w.deliver(t)
	w.expect(t, "left a resolved")
}

func TestTheFallbackHasNoThreadOfTheOwners(t *testing.T) {
	w := newWorld()
	w.finding(t, "a", audit.EventOpened, "left")
	w.deliver(t)
	w.heard()
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

func TestWhatIsAnsweredIsMarkedThoughTheSweepEnds(t *testing.T) {
	w := newWorld()
	w.finding(t, "a", audit.EventOpened, "left")
	ctx, cancel := context.WithCancelCause(t.Context())
	w.slack.answer = func(notify.Recipient) error {
		cancel(errors.New("told to end"))
		return nil
	}
	stored, _, _ := w.store.Load(ctx)
	d := w.deliverer("me", true)
	d.Store = cancelled{w.store}
	got := results(d.Deliver(ctx, stored))
	if diff := cmp.Diff([]string{"left failed told to end"}, got); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
	if m := w.store.held["a"].Told[0]; m.Last != audit.EventOpened || m.Due != audit.EventDetails {
		t.Errorf("stored: %+v", m)
	}
}

// cancelled is a store whose writes fail once the context has ended, as those to an
// API server do.
type cancelled struct{ *memory }

func (c cancelled) Update(ctx context.Context, s audit.Stored) (audit.Stored, error) {
	if err := ctx.Err(); err != nil {
		return audit.Stored{}, err
	}
	return c.memory.Update(ctx, s)
}
