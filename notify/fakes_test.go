package notify_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// fakeStore is a store in memory that several publishers share.
type fakeStore struct {
	mu      sync.Mutex
	held    map[string]audit.Stored
	version int
	writes  int
}

func (m *fakeStore) Load(context.Context) ([]audit.Stored, []string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []audit.Stored
	for _, id := range slices.Sorted(maps.Keys(m.held)) {
		out = append(out, m.held[id])
	}
	return out, nil, nil
}

func (m *fakeStore) Get(_ context.Context, id string) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.held[id]; ok {
		return s, nil
	}
	return audit.Stored{}, audit.ErrNotStored
}

func (m *fakeStore) put(r audit.Record) audit.Stored {
	m.version++
	m.writes++
	s := audit.Stored{Record: r, Version: strconv.Itoa(m.version)}
	if m.held == nil {
		m.held = map[string]audit.Stored{}
	}
	m.held[r.ID] = s
	return s
}

func (m *fakeStore) Create(_ context.Context, r audit.Record) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.held[r.ID]; ok {
		return audit.Stored{}, audit.ErrStored
	}
	return m.put(r), nil
}

func (m *fakeStore) Update(_ context.Context, s audit.Stored) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, ok := m.held[s.ID]
	switch {
	case !ok:
		return audit.Stored{}, audit.ErrNotStored
	case now.Version != s.Version:
		return audit.Stored{}, audit.ErrConflict
	}
	return m.put(s.Record), nil
}

func (m *fakeStore) Delete(_ context.Context, s audit.Stored) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held, s.ID)
	return nil
}

// killable is the store of a publisher that can be killed: after that, its writes fail.
type killable struct {
	*fakeStore
	mu   sync.Mutex
	dead bool
}

var errDead = errors.New("it was killed")

func (m *killable) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

func (m *killable) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *killable) Update(ctx context.Context, s audit.Stored) (audit.Stored, error) {
	if m.isDead() {
		return audit.Stored{}, errDead
	}
	return m.fakeStore.Update(ctx, s)
}

// fakeSender is a sender with its receiver: one message for what was opened, a reply with
// its details, and a reply for each other item.
type fakeSender struct {
	mu       sync.Mutex
	sent     []string // owner, finding and event, in the order of arrival
	where    []string // channel and thread of each of sent
	reopened []int    // how often the finding of each of sent had been reopened
	count    int
	keys     []string // of the messages, in the order of arrival
	// refuse is called before a message arrives, answer after.
	refuse func(to notify.Recipient) error
	answer func(to notify.Recipient) error
}

func (s *fakeSender) Name() string { return "slack" }

func (s *fakeSender) Plan(d notify.Digest) []notify.Message {
	parent := notify.Message{Parent: notify.NoParent, StartsThread: true, Body: d}
	details := notify.Message{Parent: 0, Body: d}
	var out []notify.Message
	for _, it := range d.Items {
		c := notify.Covered{ID: it.Record.ID, Event: it.Event}
		switch it.Event {
		case audit.EventOpened, audit.EventReopened:
			c.Next = audit.EventDetails
			parent.Covers = append(parent.Covers, c)
			details.Covers = append(details.Covers, notify.Covered{ID: it.Record.ID, Event: audit.EventDetails})
		default:
			out = append(out, notify.Message{Parent: notify.NoParent, Thread: it.Message, Covers: []notify.Covered{c}, Body: d})
		}
	}
	if len(parent.Covers) > 0 {
		out = append([]notify.Message{parent, details}, out...)
	}
	return out
}

func (s *fakeSender) Send(ctx context.Context, to notify.Recipient, m notify.Message, thread audit.MessageRef) (audit.MessageRef, error) {
	if err := ctx.Err(); err != nil {
		return audit.MessageRef{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(to); err != nil {
			return audit.MessageRef{}, err
		}
	}
	s.count++
	s.keys = append(s.keys, m.Key)
	for _, c := range m.Covers {
		for _, it := range m.Body.(notify.Digest).Items {
			if it.Record.ID == c.ID && (it.Event == c.Event || c.Event == audit.EventDetails) {
				for _, owner := range it.Owners {
					s.sent = append(s.sent, fmt.Sprintf("%s %s %s", owner, c.ID, c.Event))
					s.reopened = append(s.reopened, it.Record.Reopened)
					s.where = append(s.where, to.Address+"/"+thread.Message)
				}
			}
		}
	}
	if s.answer != nil {
		if err := s.answer(to); err != nil {
			return audit.MessageRef{}, err
		}
	}
	return audit.MessageRef{Channel: to.Address, Message: strconv.Itoa(s.count)}, nil
}
