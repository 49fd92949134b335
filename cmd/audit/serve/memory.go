package serve

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/eventuallytrue/audit/audit"
)

// Memory keeps the findings of a process that publishes nothing. They are confirmed,
// opened and resolved as in a cluster, and forgotten when the process ends. The zero
// value is empty and ready to use.
type Memory struct {
	mu     sync.Mutex
	stored map[string]audit.Stored
	writes int // the version of the last one
}

// Load implements audit.Store.
func (m *Memory) Load(context.Context) ([]audit.Stored, []string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]audit.Stored, 0, len(m.stored))
	for _, id := range slices.Sorted(maps.Keys(m.stored)) {
		all = append(all, m.stored[id])
	}
	return all, nil, nil
}

// Get implements audit.Store.
func (m *Memory) Get(_ context.Context, id string) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.stored[id]; ok {
		return held, nil
	}
	return audit.Stored{}, audit.ErrNotStored
}

// Create implements audit.Store.
func (m *Memory) Create(_ context.Context, r audit.Record) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.stored[r.ID]; ok {
		return audit.Stored{}, audit.ErrStored
	}
	return m.put(audit.Stored{Record: r}), nil
}

// Update implements audit.Store.
func (m *Memory) Update(_ context.Context, s audit.Stored) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch held, ok := m.stored[s.ID]; {
	case !ok:
		return audit.Stored{}, audit.ErrNotStored
	case held.Version != s.Version:
		return audit.Stored{}, audit.ErrConflict
	}
	return m.put(s), nil
}

// Delete implements audit.Store.
func (m *Memory) Delete(_ context.Context, s audit.Stored) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.stored[s.ID]; ok && held.Version != s.Version {
		return audit.ErrConflict
	}
	delete(m.stored, s.ID)
	return nil
}

func (m *Memory) put(s audit.Stored) audit.Stored {
	if m.stored == nil {
		m.stored = map[string]audit.Stored{}
	}
	m.writes++
	s.Version = strconv.Itoa(m.writes)
	m.stored[s.ID] = s
	return s
}
