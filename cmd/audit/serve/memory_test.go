package serve

import (
	"errors"
	"testing"

	"github.com/eventuallytrue/audit/audit"
)

// TestMemoryKeepsTheContractOfAStore: nothing is created twice, and a write names the
// version that it replaces.
func TestMemoryKeepsTheContractOfAStore(t *testing.T) {
	ctx := t.Context()
	var m Memory
	record := func(id string) audit.Record {
		return audit.Record{Finding: audit.Finding{ID: id, State: audit.StateOpen}}
	}
	if _, err := m.Get(ctx, "b"); !errors.Is(err, audit.ErrNotStored) {
		t.Errorf("Get: %v", err)
	}
	first, err := m.Create(ctx, record("b"))
	if err != nil || first.Version == "" {
		t.Fatalf("Create: %+v, %v", first, err)
	}
	if _, err := m.Create(ctx, record("b")); !errors.Is(err, audit.ErrStored) {
		t.Errorf("Create again: %v", err)
	}
	second, err := m.Update(ctx, first)
	if err != nil || second.Version == first.Version {
		t.Fatalf("Update: %+v, %v", second, err)
	}
	if _, err := m.Update(ctx, first); !errors.Is(err, audit.ErrConflict) {
		t.Errorf("Update of an old version: %v", err)
	}
	if err := m.Delete(ctx, first); !errors.Is(err, audit.ErrConflict) {
		t.Errorf("Delete of an old version: %v", err)
	}
	if _, err := m.Create(ctx, record("a")); err != nil {
		t.Fatal(err)
	}
	all, newer, err := m.Load(ctx)
	if err != nil || len(newer) > 0 || len(all) != 2 || all[0].ID != "a" || all[1].ID != "b" {
		t.Errorf("Load: %+v, %v, %v", all, newer, err)
	}
	for range 2 { // deleting what is gone is not an error
		if err := m.Delete(ctx, second); err != nil {
			t.Errorf("Delete: %v", err)
		}
	}
	if _, err := m.Update(ctx, second); !errors.Is(err, audit.ErrNotStored) {
		t.Errorf("Update of what is gone: %v", err)
	}
}
