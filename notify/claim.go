package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eventuallytrue/audit/audit"
)

const (
	// claimExpiry is how long a claim keeps other publishers away. It exceeds
	// maxDelivery, so the claimant has stopped by then, by more than clocks differ.
	claimExpiry = 10 * time.Minute
	// recordGrace is how long recording may take after the context has ended: what is
	// not recorded is sent again.
	recordGrace  = 10 * time.Second
	writesAtOnce = 8
	// maxTries bounds how often a change is repeated after another publisher has
	// changed the finding.
	maxTries = 5
)

// ledger holds the stored findings while owners are notified of them. Several
// goroutines change them at once, and so may other publishers.
type ledger struct {
	store   audit.Store
	entries map[string]*entry // by ID; the map itself does not change
	slots   chan struct{}     // bounds the requests under way
}

type entry struct {
	mu     sync.Mutex
	stored audit.Stored
}

func newLedger(store audit.Store, stored []audit.Stored) *ledger {
	l := &ledger{store: store, entries: make(map[string]*entry, len(stored)), slots: make(chan struct{}, writesAtOnce)}
	for _, s := range stored {
		l.entries[s.ID] = &entry{stored: s}
	}
	return l
}

// record returns the finding as this publisher last saw it in the store.
func (l *ledger) record(id string) audit.Record {
	e := l.entries[id]
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stored.Record
}

// change stores what f makes of a finding, by compare-and-swap: f is called again on
// the new state if another publisher has changed the finding. Nothing is stored if f
// returns false.
func (l *ledger) change(ctx context.Context, id string, f func(*audit.Record) bool) error {
	e := l.entries[id]
	e.mu.Lock()
	defer e.mu.Unlock()
	l.slots <- struct{}{}
	defer func() { <-l.slots }()
	for range maxTries {
		next := e.stored
		if !f(&next.Record) {
			return nil
		}
		now, err := l.store.Update(ctx, next)
		if err == nil {
			e.stored = now
			return nil
		}
		// A finding reported as gone is read again: if it is still there after all, its
		// owner would be notified twice.
		if !errors.Is(err, audit.ErrConflict) && !errors.Is(err, audit.ErrNotStored) {
			return err
		}
		if now, err = l.store.Get(ctx, id); err != nil {
			return err
		}
		e.stored = now
	}
	return fmt.Errorf("update the notifications of finding %s: %d tries: %w", id, maxTries, audit.ErrConflict)
}

// claims claims, releases and records the notifications of one sender.
type claims struct {
	*ledger
	sender      string // that the notifications are stored under
	publisher   string
	withLease   bool
	remindAfter time.Duration
	clock       func() time.Time
}

// claim claims items before they are sent, so that no other publisher sends them too,
// and returns those it got, as they are stored now.
func (c *claims) claim(ctx context.Context, items []Item) ([]Item, error) {
	var mu sync.Mutex
	var claimed []Item
	err := each(items, func(it Item) error {
		var owners []string
		err := c.changeEach(ctx, it, func(n *audit.Notification) bool {
			if !c.mayClaim(*n, it) {
				return false
			}
			n.Claim = audit.Claim{By: c.publisher, At: c.clock(), WithLease: c.withLease}
			owners = append(owners, n.Owner)
			return true
		}, func() { owners = nil })
		if err != nil || len(owners) == 0 {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		it.Owners, it.Record = owners, c.record(it.Record.ID)
		claimed = append(claimed, it)
		return nil
	})
	if err != nil {
		c.release(ctx, claimed, "")
		return nil, err
	}
	sortItems(claimed)
	return claimed, nil
}

// mayClaim reports whether an item is still pending and no other publisher is sending
// it. The holder of the Lease may take over the claim of a previous holder.
func (c *claims) mayClaim(n audit.Notification, it Item) bool {
	if it.Event == audit.EventReminder {
		if n.Pending != "" || !n.Notified() || !n.At.Equal(it.NotifiedAt) && c.clock().Sub(n.At) < c.remindAfter {
			return false
		}
	} else if n.Pending != it.Event {
		return false
	}
	if n.Claim.By == "" || n.Claim.By == c.publisher || n.Claim.WithLease && c.withLease {
		return true
	}
	return c.clock().Sub(n.Claim.At).Abs() >= claimExpiry
}

// release gives up the claims on items that were not sent. If they were refused, the
// time and the reason are kept, so that they are not tried again at once.
func (c *claims) release(ctx context.Context, items []Item, refused string) {
	ctx, cancel := withGrace(ctx, recordGrace)
	defer cancel()
	// A claim that cannot be released expires.
	_ = each(items, func(it Item) error {
		return c.changeEach(ctx, it, func(n *audit.Notification) bool {
			if n.Claim.By != c.publisher {
				return false
			}
			n.Claim = audit.Claim{}
			if refused != "" {
				n.Claim.At, n.Error = c.clock(), refused
			}
			return true
		})
	})
}

// forget records obsolete items as done without sending anything.
func (c *claims) forget(ctx context.Context, items []Item) error {
	return each(items, func(it Item) error {
		return c.changeEach(ctx, it, func(n *audit.Notification) bool {
			if n.Pending != it.Event {
				return false
			}
			n.Last, n.Pending, n.Claim = it.Event, "", audit.Claim{}
			return true
		})
	})
}

// recordSent records the items that a message covers, and returns those that are left
// to send. It outlasts the context: what is sent and not recorded is sent again.
func (c *claims) recordSent(ctx context.Context, items []Item, m Message, at audit.MessageRef) (left []Item, err error) {
	ctx, cancel := withGrace(ctx, recordGrace)
	defer cancel()
	type key struct {
		id    string
		event audit.Event
	}
	covered := map[key]audit.Event{}
	for _, done := range m.Covers {
		covered[key{done.ID, done.Event}] = done.Next
	}
	var sent []Item
	for _, it := range items {
		next, ok := covered[key{it.Record.ID, it.Event}]
		switch {
		case !ok:
			left = append(left, it)
			continue
		case next != "":
			further := it
			further.Event = next
			if m.StartsThread {
				further.Message = at
			}
			left = append(left, further)
		}
		sent = append(sent, it)
	}
	err = each(sent, func(it Item) error {
		return c.changeEach(ctx, it, func(n *audit.Notification) bool {
			c.markSent(n, it, covered[key{it.Record.ID, it.Event}])
			if m.StartsThread {
				n.Message = at
			}
			return true
		})
	})
	return left, err
}

// markSent updates a notification after its message was sent. An event that became
// pending in the meantime stays pending.
func (c *claims) markSent(n *audit.Notification, it Item, next audit.Event) {
	n.At, n.Error = c.clock(), it.refused
	if it.Event != audit.EventReminder && it.Event != audit.EventDetails {
		n.Last = it.Event
	}
	if n.Pending == it.Event || n.Pending == "" {
		n.Pending = next
	}
	if next == "" {
		n.Claim = audit.Claim{}
	}
}

// changeEach stores what f makes of the notification of each owner of an item. f may
// be called again for all of them, after begin.
func (c *claims) changeEach(ctx context.Context, it Item, f func(*audit.Notification) bool, begin ...func()) error {
	return c.change(ctx, it.Record.ID, func(r *audit.Record) bool {
		for _, b := range begin {
			b()
		}
		changed := false
		for _, n := range slices.Clone(r.Notifications) {
			if n.Sender != c.sender || !slices.Contains(it.Owners, n.Owner) || !f(&n) {
				continue
			}
			changed = true
			if n.Last == audit.EventReleased && n.Pending == "" {
				// The owner knows that the finding is no longer theirs: nothing is left to say.
				r.Notifications = slices.DeleteFunc(slices.Clone(r.Notifications), func(o audit.Notification) bool {
					return o.Sender == n.Sender && o.Owner == n.Owner
				})
				continue
			}
			r.SetNotification(n)
		}
		return changed
	})
}

// each calls f for all items, several at a time, and returns the first error. A
// finding that is no longer stored is not an error: nothing is left to do for it.
func each(items []Item, f func(Item) error) error {
	var g errgroup.Group
	g.SetLimit(writesAtOnce)
	for _, it := range items {
		g.Go(func() error {
			if err := f(it); !errors.Is(err, audit.ErrNotStored) {
				return err
			}
			return nil
		})
	}
	return g.Wait()
}

// withGrace returns a context that ends d after ctx does.
func withGrace(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if Sleep(longer, d) == nil {
			cancel()
		}
	})
	return longer, func() { stop(); cancel() }
}
