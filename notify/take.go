package notify

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/eventuallytrue/audit/audit"
)

// take claims items before they are told, so that no other publisher tells them as
// well, and returns those that are this one's, as they are stored now.
func (v *delivery) take(ctx context.Context, items []Item) ([]Item, error) {
	var mu sync.Mutex
	var mine []Item
	err := v.each(items, func(it Item) error {
		var owners []string
		err := v.changeMarks(ctx, it, func(t *audit.Notification) bool {
			if !v.mayTake(*t, it) {
				return false
			}
			t.Claim = audit.Claim{By: v.Publisher, At: v.Clock(), WithLease: v.Leased}
			owners = append(owners, t.Owner)
			return true
		}, func() { owners = nil })
		if errors.Is(err, audit.ErrNotStored) {
			return nil // it is gone, and there is nothing to tell of it
		}
		if err != nil || len(owners) == 0 {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		it.Owners, it.Record = owners, v.ledger.record(it.Record.ID)
		mine = append(mine, it)
		return nil
	})
	if err != nil {
		v.release(ctx, mine, "")
		return nil, err
	}
	sortItems(mine)
	return mine, nil
}

// mayTake reports whether an item is still to be told and nobody else is at it.
// Whoever had the Lease that this publisher has now is not at it any more.
func (v *delivery) mayTake(t audit.Notification, it Item) bool {
	if it.Event == audit.EventReminder {
		if t.Pending != "" || !t.Notified() || !t.At.Equal(it.NotifiedAt) && v.Clock().Sub(t.At) < v.RemindAfter {
			return false
		}
	} else if t.Pending != it.Event {
		return false
	}
	if t.Claim.By == "" || t.Claim.By == v.Publisher || t.Claim.WithLease && v.Leased {
		return true
	}
	return v.Clock().Sub(t.Claim.At).Abs() >= takenFor
}

// release lets go of items that were not told. Where they were refused, the time
// is kept: they are not tried again at once.
func (v *delivery) release(ctx context.Context, items []Item, refused string) {
	ctx, cancel := outlast(ctx, markFor)
	defer cancel()
	// What cannot be let go of is taken for a while, and then let go of by itself.
	_ = v.each(items, func(it Item) error {
		return v.changeMarks(ctx, it, func(t *audit.Notification) bool {
			if t.Claim.By != v.Publisher {
				return false
			}
			t.Claim = audit.Claim{}
			if refused != "" {
				t.Claim.At, t.Error = v.Clock(), refused
			}
			return true
		})
	})
}

// forget ends what is known of those whom nothing is to be told any more.
func (v *delivery) forget(ctx context.Context, items []Item) error {
	return v.each(items, func(it Item) error {
		return unlessGone(v.changeMarks(ctx, it, func(t *audit.Notification) bool {
			if t.Pending != it.Event {
				return false
			}
			t.Last, t.Pending, t.Claim = it.Event, "", audit.Claim{}
			return true
		}))
	})
}

// unlessGone leaves out that a finding is not stored any more: nothing is to be
// kept of it then.
func unlessGone(err error) error {
	if errors.Is(err, audit.ErrNotStored) {
		return nil
	}
	return err
}

// changeMarks stores a change of what the owners of an item were told. The function
// is asked for each of them, and may be asked again for all, after begin.
func (v *delivery) changeMarks(ctx context.Context, it Item, f func(*audit.Notification) bool, begin ...func()) error {
	return v.ledger.change(ctx, it.Record.ID, func(r *audit.Record) bool {
		for _, b := range begin {
			b()
		}
		changed := false
		for _, t := range slices.Clone(r.Notifications) {
			if t.Sender != v.group.sender || !slices.Contains(it.Owners, t.Owner) || !f(&t) {
				continue
			}
			changed = true
			if t.Last == audit.EventReleased && t.Pending == "" {
				// They know now that it is not theirs: there is no more to it.
				r.Notifications = slices.DeleteFunc(slices.Clone(r.Notifications), func(o audit.Notification) bool {
					return o.Sender == t.Sender && o.Owner == t.Owner
				})
				continue
			}
			r.SetNotification(t)
		}
		return changed
	})
}

// each calls a function for every item, several at a time, and returns the first
// error.
func (v *delivery) each(items []Item, f func(Item) error) error {
	var first error
	var once sync.Once
	var wait sync.WaitGroup
	slots := make(chan struct{}, writesAtOnce)
	for _, it := range items {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			if err := f(it); err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	wait.Wait()
	return first
}
