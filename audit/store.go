package audit

import (
	"context"
	"errors"
)

// Stored is a record as a store holds it.
type Stored struct {
	Record
	// Version is the store's own mark of what it holds: a write names the
	// version that it replaces, and fails where that is not the last one.
	Version string
	// Bare is true of a finding that was created and whose record was not
	// written any more: somebody was ended in between. Nothing is known of it
	// but rule and subject, and its State is empty.
	Incomplete bool
	// Stale is true where something that the store keeps beside the record, to
	// find it by, does not fit the record: it has to be written once more.
	Stale bool
}

// Store keeps records from sweep to sweep. It may be used by several publishers
// at once, each of whom sees what the others wrote.
type Store interface {
	// Load returns every record, sorted by ID, read from the source of truth
	// and not from a copy. Those that a newer program wrote in a form that this
	// one does not understand are named and must be left alone.
	Load(ctx context.Context) (records []Stored, newer []string, err error)
	// Get returns one record, or ErrNotStored.
	Get(ctx context.Context, id string) (Stored, error)
	// Create stores a record under its ID, or returns ErrStored where there is
	// one already, whoever wrote it.
	Create(ctx context.Context, r Record) (Stored, error)
	// Update replaces a record, or returns ErrConflict where the store does not
	// hold that version any more.
	Update(ctx context.Context, s Stored) (Stored, error)
	// Delete removes a record, or returns ErrConflict as Update does. One that
	// is gone already is no error.
	Delete(ctx context.Context, s Stored) error
}

// What stands in the way of a write. A store wraps them.
var (
	ErrStored    = errors.New("it is stored already")
	ErrNotStored = errors.New("it is not stored")
	ErrConflict  = errors.New("somebody else changed it")
)
