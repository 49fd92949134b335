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

// memory is a store that several publishers share.
type memory struct {
	mu      sync.Mutex
	held    map[string]audit.Stored
	version int
	writes  int
}

func (m *memory) Load(context.Context) ([]audit.Stored, []string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []audit.Stored
	for _, id := range slices.Sorted(maps.Keys(m.held)) {
		out = append(out, m.held[id])
	}
	return out, nil, nil
}

func (m *memory) Get(_ context.Context, id string) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.held[id]; ok {
		return s, nil
	}
	return audit.Stored{}, audit.ErrNotStored
}

func (m *memory) put(r audit.Record) audit.Stored {
	m.version++
	m.writes++
	s := audit.Stored{Record: r, Version: strconv.Itoa(m.version)}
	if m.held == nil {
		m.held = map[string]audit.Stored{}
	}
	m.held[r.ID] = s
	return s
}

func (m *memory) Create(_ context.Context, r audit.Record) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.held[r.ID]; ok {
		return audit.Stored{}, audit.ErrStored
	}
	return m.put(r), nil
}

func (m *memory) Update(_ context.Context, s audit.Stored) (audit.Stored, error) {
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

func (m *memory) Delete(_ context.Context, s audit.Stored) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.held, s.ID)
	return nil
}

// mortal is a store of which one publisher loses hold when it is killed.
type mortal struct {
	*memory
	mu   sync.Mutex
	dead bool
}

var errDead = errors.New("it was killed")

func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) Update(ctx context.Context, s audit.Stored) (audit.Stored, error) {
	if m.isDead() {
		return audit.Stored{}, errDead
	}
	return m.memory.Update(ctx, s)
}

// threads is a receiver and its sender: one message for what was opened, one with
// details beneath it, and one beneath that for everything else.
type threads struct {
	mu    sync.Mutex
	told  []string // owner, finding, event: in the order in which it arrived
	where []string // channel and thread of each of told
	lives []int    // how often the finding of each of told had come back by then
	sent  int
	// answer is asked after a message has arrived; before that, refuse is.
	refuse func(to notify.Recipient) error
	answer func(to notify.Recipient) error
}

func (s *threads) Name() string { return "slack" }

func (s *threads) Plan(d notify.Digest) []notify.Message {
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

func (s *threads) Send(ctx context.Context, to notify.Recipient, m notify.Message, beneath audit.MessageRef) (audit.MessageRef, error) {
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
	s.sent++
	for _, c := range m.Covers {
		for _, it := range m.Body.(notify.Digest).Items {
			if it.Record.ID == c.ID && (it.Event == c.Event || c.Event == audit.EventDetails) {
				for _, owner := range it.Owners {
					s.told = append(s.told, fmt.Sprintf("%s %s %s", owner, c.ID, c.Event))
					s.lives = append(s.lives, it.Record.Reopened)
					s.where = append(s.where, to.Address+"/"+beneath.Message)
				}
			}
		}
	}
	if s.answer != nil {
		if err := s.answer(to); err != nil {
			return audit.MessageRef{}, err
		}
	}
	return audit.MessageRef{Channel: to.Address, Message: strconv.Itoa(s.sent)}, nil
}
