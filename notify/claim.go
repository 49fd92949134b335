package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eventuallytrue/audit/audit"
)

const (
	// recordGrace is how long recording may take after the context has ended: what is
	// not recorded is sent again.
	recordGrace  = Grace/2 + time.Second
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
	memory      *Memory
}

// failedItem is a finding whose notification could not be stored.
type failedItem struct {
	id  string
	err error
}

// errTakenOver is why an event is not recorded although it was sent.
var errTakenOver = errors.New("another publisher took over before it was recorded, and may repeat it")

// newClaim returns a claim as it is stored, in whole seconds.
func (c *claims) newClaim() audit.Claim {
	return audit.Claim{By: c.publisher, At: c.clock().UTC().Truncate(time.Second), WithLease: c.withLease}
}

// seen returns for how long the process has seen a notification claimed as it is.
func (c *claims) seen(it Item, n *audit.Notification) time.Duration {
	return c.memory.seen(notificationKey{it.Record.ID, n.Sender, n.Owner}, n.Claim, c.clock())
}

// claim claims items before they are sent, so that no other publisher sends them too. It
// stops when the given time is over, but not before the first item. It returns the items
// it got, as they are stored now, those it had no time for, and those that could not be
// updated: one of them must not hold up the others.
func (c *claims) claim(ctx context.Context, items []Item, within time.Duration) (claimed, rest []Item, failed []failedItem) {
	claim, began := c.newClaim(), time.Now()
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(writesAtOnce)
	for i, it := range items {
		if context.Cause(ctx) != nil || i > 0 && time.Since(began) >= within {
			mu.Lock()
			rest = append(rest, items[i:]...)
			mu.Unlock()
			break
		}
		g.Go(func() error {
			owners, err := c.claimOne(ctx, it, claim)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && len(owners) > 0:
				it.Owners, it.Record, it.claim = owners, c.record(it.Record.ID), claim
				claimed = append(claimed, it)
			case err == nil, errors.Is(err, audit.ErrNotStored):
			case ctx.Err() != nil:
				rest = append(rest, it)
			default:
				failed = append(failed, failedItem{it.Record.ID, err})
			}
			return nil
		})
	}
	_ = g.Wait() // each error is in failed
	sortItems(claimed)
	slices.SortFunc(failed, func(a, b failedItem) int { return strings.Compare(a.id, b.id) })
	return claimed, rest, failed
}

// claimOne claims an item for each of its owners, and returns those it got.
func (c *claims) claimOne(ctx context.Context, it Item, claim audit.Claim) (owners []string, err error) {
	err = c.changeEach(ctx, it, func(r *audit.Record, n *audit.Notification) bool {
		if it.Event == audit.EventReminder && !n.At.Equal(it.NotifiedAt) && c.clock().Sub(n.At) < c.remindAfter {
			return false // another publisher has just reminded them
		}
		if it.retry {
			n.Retry()
		}
		if !r.DampedUntil(n, c.clock()).IsZero() || !n.Take(it.Event, claim, c.seen(it, n), c.clock()) {
			return false
		}
		owners = append(owners, n.Owner)
		return true
	}, func() { owners = nil })
	return owners, err
}

// release gives up the claims on items that were not sent. If they were refused, the
// time and the reason are kept, so that they are not tried again at once.
func (c *claims) release(ctx context.Context, items []Item, refused string) {
	ctx, cancel := WithGrace(ctx, recordGrace)
	defer cancel()
	// A claim that cannot be released expires.
	_ = each(items, func(it Item) error {
		return c.changeEach(ctx, it, func(_ *audit.Record, n *audit.Notification) bool {
			if refused != "" {
				return n.Refused(refused, it.claim, c.clock())
			}
			return n.Release(it.claim)
		})
	})
}

// forget records obsolete items as done without sending anything.
func (c *claims) forget(ctx context.Context, items []Item) error {
	claim := c.newClaim()
	return each(items, func(it Item) error {
		return c.changeEach(ctx, it, func(_ *audit.Record, n *audit.Notification) bool {
			return n.Forget(it.Event, claim, c.seen(it, n))
		})
	})
}

// coveredItem is an item that a message covers, and the event that is pending after it.
type coveredItem struct {
	Item
	next audit.Event
}

// split splits items into those that a message covers and the others.
func (m *Message) split(items []Item) (covered []coveredItem, left []Item) {
	type key struct {
		id    string
		event audit.Event
	}
	by := map[key]audit.Event{}
	for _, c := range m.Covers {
		by[key{c.ID, c.Event}] = c.Next
	}
	for _, it := range items {
		if next, ok := by[key{it.Record.ID, it.Event}]; ok {
			covered = append(covered, coveredItem{it, next})
		} else {
			left = append(left, it)
		}
	}
	return covered, left
}

// recordSent records the items that a message covers. It returns the items that are left
// to send, and those that could not be recorded, which the memory keeps.
func (c *claims) recordSent(ctx context.Context, items []Item, m *Message, at audit.MessageRef) (left []Item, failed []failedItem) {
	covered, left := m.split(items)
	now := c.clock()
	outcome := func(it coveredItem) accepted {
		return accepted{it.Event, it.next, it.claim, now, it.refused, at, m.StartsThread}
	}
	failed = c.recordEach(ctx, covered, func(it coveredItem, n *audit.Notification) bool { return outcome(it).record(n) })
	for _, it := range covered {
		n := slices.IndexFunc(failed, func(f failedItem) bool { return f.id == it.Record.ID })
		switch {
		case n < 0 && it.next != "":
			further := it.Item
			further.Event, further.attempt = it.next, audit.Attempt{}
			if m.StartsThread {
				further.Message = at
			}
			left = append(left, further)
		case n >= 0 && !errors.Is(failed[n].err, errTakenOver):
			for _, owner := range it.Owners {
				c.memory.remember(notificationKey{it.Record.ID, c.sender, owner}, outcome(it))
			}
		}
	}
	return left, failed
}

// recordUnconfirmed records that the message that covers some items may have arrived, and
// returns the items that are left to send, and those that could not be recorded.
func (c *claims) recordUnconfirmed(ctx context.Context, items []Item, m *Message, why string) (left []Item, failed []failedItem) {
	covered, left := m.split(items)
	now := c.clock()
	return left, c.recordEach(ctx, covered, func(it coveredItem, n *audit.Notification) bool {
		return n.Unconfirmed(it.Event, m.Key, why, it.claim, now)
	})
}

// recordEach stores the outcome of a message in the notifications of the items that it
// covers, while they have the claim under which it was sent, and returns those where that
// failed. It outlasts the context: what is sent and not recorded is sent again.
func (c *claims) recordEach(ctx context.Context, items []coveredItem, f func(coveredItem, *audit.Notification) bool) (failed []failedItem) {
	ctx, cancel := WithGrace(ctx, recordGrace)
	defer cancel()
	var mu sync.Mutex
	var g errgroup.Group
	g.SetLimit(writesAtOnce)
	for _, it := range items {
		g.Go(func() error {
			lost := false
			err := c.changeEach(ctx, it.Item, func(_ *audit.Record, n *audit.Notification) bool {
				if f(it, n) {
					return true
				}
				lost = true
				return false
			}, func() { lost = false })
			if err == nil && lost {
				err = errTakenOver
			}
			if err != nil && !errors.Is(err, audit.ErrNotStored) {
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, failedItem{it.Record.ID, err})
			}
			return nil
		})
	}
	_ = g.Wait() // each error is in failed
	slices.SortFunc(failed, func(a, b failedItem) int { return strings.Compare(a.id, b.id) })
	return failed
}

// changeEach stores what f makes of the notification of each owner of an item. f may
// be called again for all of them, after begin.
func (c *claims) changeEach(ctx context.Context, it Item, f func(*audit.Record, *audit.Notification) bool, begin ...func()) error {
	return c.change(ctx, it.Record.ID, func(r *audit.Record) bool {
		for _, b := range begin {
			b()
		}
		changed := false
		for _, n := range slices.Clone(r.Notifications) {
			if n.Sender != c.sender || !slices.Contains(it.Owners, n.Owner) || !f(r, &n) {
				continue
			}
			changed = true
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
