package audit_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// memory is a store that keeps findings in memory, with the rules of a real one.
type memory struct {
	mu      sync.Mutex
	records map[string]audit.Stored
	writes  int
	// before, where set, is called before each write and may act as another publisher.
	before func(id string)
}

func newMemory() *memory { return &memory{records: map[string]audit.Stored{}} }

func (m *memory) Load(context.Context) ([]audit.Stored, []string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []audit.Stored
	for _, s := range m.records {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b audit.Stored) int { return strings.Compare(a.ID, b.ID) })
	return out, nil, nil
}

func (m *memory) Get(_ context.Context, id string) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.records[id]
	if !ok {
		return s, audit.ErrNotStored
	}
	return s, nil
}

func (m *memory) Create(_ context.Context, r audit.Record) (audit.Stored, error) {
	m.interfere(r.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.records[r.ID]; ok {
		return audit.Stored{}, audit.ErrStored
	}
	return m.put(r), nil
}

func (m *memory) Update(_ context.Context, s audit.Stored) (audit.Stored, error) {
	m.interfere(s.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.records[s.ID]; !ok {
		return s, audit.ErrNotStored
	} else if held.Version != s.Version {
		return s, audit.ErrConflict
	}
	return m.put(s.Record), nil
}

func (m *memory) Delete(_ context.Context, s audit.Stored) error {
	m.interfere(s.ID)
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.records[s.ID]; ok && held.Version != s.Version {
		return audit.ErrConflict
	}
	delete(m.records, s.ID)
	m.writes++
	return nil
}

// put stores a record under the next version.
func (m *memory) put(r audit.Record) audit.Stored {
	m.writes++
	s := audit.Stored{Record: r, Version: strconv.Itoa(m.writes)}
	m.records[r.ID] = s
	return s
}

func (m *memory) interfere(id string) {
	if m.before != nil {
		m.before(id)
	}
}

// free is a lock without competitors.
type free struct{}

func (free) Acquire(ctx context.Context, _ func()) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

// world is a cluster that may look different when it is read again.
type world struct {
	first, second snapshot.Facts
	status        snapshot.Status // of every kind; Listed by default
	unreadable    bool            // the second time
	reread        []snapshot.Part
	rereads       int
}

func (w *world) Read(_ context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	status := w.status
	if status == "" {
		status = snapshot.Listed
	}
	for _, k := range kinds {
		b.Add(snapshot.Facts{}, snapshot.Read{Kind: k, Version: "v1", Status: status})
	}
	b.Add(w.first)
	return audit.Reading{}, nil
}

func (w *world) Reread(_ context.Context, parts []snapshot.Part, _ func(snapshot.Kind) string, b *snapshot.Builder) ([]snapshot.Part, []audit.UnreadPart, error) {
	w.reread = append(w.reread, parts...)
	w.rereads++
	if w.unreadable {
		var unread []audit.UnreadPart
		for _, p := range parts {
			unread = append(unread, audit.UnreadPart{Part: p, Reason: "HTTP 503: busy"})
		}
		return nil, unread, nil
	}
	b.Add(w.second)
	return parts, nil, nil
}
