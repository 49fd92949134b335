package redteam

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// settings is the config of all sweeps.
func settings() *config.Config {
	c := config.Default()
	c.Owners.Fallback = "platform"
	return &c
}

// source is a cluster with some objects.
type source struct {
	data []byte
}

// of returns a source of objects.
func of(objects []object) *source { return &source{data: list(objects)} }

func (s *source) read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	c := settings()
	m := &manifests.Source{
		Paths: []string{"-"}, Stdin: bytes.NewReader(s.data), OwnerKeys: c.Owners.Keys, HostSources: c.KnownHostSources(),
		ExternalDNSPrefixes: c.Hosts.Prefixes(),
	}
	return m.Read(ctx, kinds, b)
}

// Read implements audit.Source.
func (s *source) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	return s.read(ctx, kinds, b)
}

// Reread implements audit.Rereader: nothing changes during a sweep.
func (s *source) Reread(ctx context.Context, parts []snapshot.Part, _ func(snapshot.Kind) string, b *snapshot.Builder) ([]snapshot.Part, []audit.UnreadPart, error) {
	_, err := s.read(ctx, audit.Needs(catalog.All()), b)
	return parts, nil, err
}

// records is a store of findings.
type records struct {
	mu    sync.Mutex
	by    map[string]audit.Stored
	wrote int
}

func (m *records) Load(context.Context) ([]audit.Stored, []string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []audit.Stored
	for _, id := range slices.Sorted(maps.Keys(m.by)) {
		out = append(out, m.by[id])
	}
	return out, nil, nil
}

func (m *records) Get(_ context.Context, id string) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.by[id]
	if !ok {
		return s, audit.ErrNotStored
	}
	return s, nil
}

func (m *records) Create(_ context.Context, r audit.Record) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.by[r.ID]; ok {
		return audit.Stored{}, audit.ErrStored
	}
	return m.put(r), nil
}

func (m *records) Update(_ context.Context, s audit.Stored) (audit.Stored, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.by[s.ID]; !ok {
		return s, audit.ErrNotStored
	} else if held.Version != s.Version {
		return s, audit.ErrConflict
	}
	return m.put(s.Record), nil
}

func (m *records) Delete(_ context.Context, s audit.Stored) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if held, ok := m.by[s.ID]; ok && held.Version != s.Version {
		return audit.ErrConflict
	}
	delete(m.by, s.ID)
	m.wrote++
	return nil
}

func (m *records) put(r audit.Record) audit.Stored {
	m.wrote++
	s := audit.Stored{Record: r, Version: strconv.Itoa(m.wrote)}
	m.by[r.ID] = s
	return s
}

// alone is a lock that nobody else wants.
type alone struct{}

func (alone) Acquire(ctx context.Context, _ func()) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

// cluster is what a publisher sweeps: the findings that are stored, and the notifications
// that were due.
type cluster struct {
	store *records
	sent  int
	last  map[string]audit.Stored // before the last sweep
}

func newCluster() *cluster { return &cluster{store: &records{by: map[string]audit.Stored{}}} }

// Senders implements audit.Notifier.
func (c *cluster) Senders(string, string) []string { return []string{"slack"} }

// Deliver implements audit.Notifier.
func (c *cluster) Deliver(ctx context.Context, stored []audit.Stored) []audit.Delivery {
	for _, st := range stored {
		changed := false
		for _, n := range st.Notifications {
			if n.Pending != "" {
				n.Last, n.Pending = n.Pending, ""
				st.SetNotification(n)
				c.sent++
				changed = true
			}
		}
		if changed {
			if _, err := c.store.Update(ctx, st); err != nil {
				panic(err)
			}
		}
	}
	return nil
}

// readable is what a publisher sweeps.
type readable interface {
	audit.Source
	audit.Rereader
}

// publish sweeps objects and publishes what is found.
func (c *cluster) publish(t *testing.T, src readable, at time.Time) (*audit.Result, *audit.Published) {
	t.Helper()
	c.last = maps.Clone(c.store.by)
	conf := settings()
	p := &audit.Publisher{
		Store: c.store, Source: src, Notifier: func(*audit.Result) audit.Notifier { return c },
		Reconciler: audit.Reconciler{Hold: hold, Keep: time.Hour * 24 * 30, MaxNew: 100, MaxNotifications: 100},
	}
	res, published, err := audit.SweepAndPublish(t.Context(), src, catalog.All(), conf, func() time.Time { return at }, p, alone{})
	if err != nil {
		t.Fatalf("publish: %v", err)
	}
	return res, published
}

// swept returns the result of a sweep that publishes nothing.
func swept(t *testing.T, objects []object, at time.Time) *audit.Result {
	t.Helper()
	res, err := audit.Sweep(t.Context(), of(objects), catalog.All(), settings(), func() time.Time { return at }, nil)
	if err != nil {
		t.Fatalf("sweep: %v", err)
	}
	return res
}

// hold opens every finding at once, as the default settings do.
func hold(string) audit.Hold { return audit.Hold{} }
