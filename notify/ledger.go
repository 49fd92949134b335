package notify

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/eventuallytrue/audit/audit"
)

// ledger is what is stored of findings while owners are told of them. Several
// goroutines change it at once, and so may other publishers.
type ledger struct {
	store   audit.Store
	entries map[string]*entry // by ID; the map itself does not change
	slots   chan struct{}     // bounds the requests under way
}

type entry struct {
	mu     sync.Mutex
	stored audit.Stored
}

func newLedger(store audit.Store, stored []audit.Stored, parallel int) *ledger {
	l := &ledger{store: store, entries: make(map[string]*entry, len(stored)), slots: make(chan struct{}, parallel)}
	for _, s := range stored {
		l.entries[s.ID] = &entry{stored: s}
	}
	return l
}

// record returns a finding as it was stored last, as far as is known.
func (l *ledger) record(id string) audit.Record {
	e := l.entries[id]
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stored.Record
}

// maxTries is how often a change is made again after somebody else changed the
// finding.
const maxTries = 5

// change stores what a function makes of a finding. Where somebody else changed it
// meanwhile, the function is asked again with what they left. One that reports
// false changes nothing.
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
		// What is said to be gone is asked for: it would be told again if it is not.
		if !errors.Is(err, audit.ErrConflict) && !errors.Is(err, audit.ErrNotStored) {
			return err
		}
		if now, err = l.store.Get(ctx, id); err != nil {
			return err
		}
		e.stored = now
	}
	return fmt.Errorf("mark finding %s %d times: %w", id, maxTries, audit.ErrConflict)
}
