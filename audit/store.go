package audit

import (
	"context"
	"errors"
	"strings"
)

// Stored is a record as a store holds it.
type Stored struct {
	Record
	// Version identifies what the store holds. A write names the version that it
	// replaces, and fails if that is no longer the current one.
	Version string
	// Incomplete is true of a finding that was created but whose record was never
	// written, because its publisher was terminated in between. Only rule and
	// subject are known of it, and its State is empty.
	Incomplete bool
	// Stale is true if what the store keeps beside the record to find it by, such as
	// labels, does not match the record: it must be written again.
	Stale bool
}

// Store keeps records from sweep to sweep. Several publishers may use it at once;
// each sees what the others wrote.
type Store interface {
	// Load returns every record, sorted by ID, from the source of truth and not from
	// a copy. newer names the records that a newer program wrote in a form that this
	// one does not understand; they must be left alone.
	Load(ctx context.Context) (records []Stored, newer []string, err error)
	// Get returns one record, or ErrNotStored.
	Get(ctx context.Context, id string) (Stored, error)
	// Create stores a record under its ID, or returns ErrStored if there is one,
	// no matter who wrote it.
	Create(ctx context.Context, r Record) (Stored, error)
	// Update replaces a record, or returns ErrConflict if the store no longer holds
	// that version.
	Update(ctx context.Context, s Stored) (Stored, error)
	// Delete removes a record, or returns ErrConflict as Update does. Deleting a
	// record that is already gone is not an error.
	Delete(ctx context.Context, s Stored) error
}

// Definer is a Store whose definition may lack fields of a record, such as one that was
// not upgraded with the program. They are lost without an error.
type Definer interface {
	// Missing returns the fields that the definition lacks, sorted. It reads the
	// definition again.
	Missing(ctx context.Context) []string
	// Dropped returns those that are known, without reading anything.
	Dropped() []string
	// CanNotify reports whether owners can be notified at all: whether it can be stored
	// that they were.
	CanNotify() bool
}

// UpgradeCommand upgrades the definition of findings.
const UpgradeCommand = "kubectl apply --server-side --force-conflicts -f https://raw.githubusercontent.com/eventuallytrue/audit/main/audit/api/v1alpha1/eventuallytrue.dev_findings.yaml"

// definitionProblem says that the definition lacks fields.
func definitionProblem(missing []string, canNotify bool) Failure {
	reason := "it lacks " + strings.Join(missing, ", ") + ", which the API server drops"
	if !canNotify {
		reason += "; no one is notified, because that could not be stored"
	}
	return Failure{
		Stage: StageStore, Where: "the CustomResourceDefinition of findings is out of date",
		Reason: reason + ". Upgrade it: " + UpgradeCommand,
	}
}

// The reasons why a write is rejected. A store wraps them.
var (
	ErrStored    = errors.New("already stored")
	ErrNotStored = errors.New("not stored")
	ErrConflict  = errors.New("another publisher changed it")
)

// Lock lets one publisher work at a time.
type Lock interface {
	// Acquire waits for the lock. It calls begin, which returns at once, each time
	// it has seen that the lock is free and is about to take it: after a successful
	// Acquire, no one has held the lock since the last call of begin. The returned
	// context ends as soon as the lock is lost. release gives the lock back and must
	// be called.
	Acquire(ctx context.Context, begin func()) (held context.Context, release func(), err error)
}

// lease is a lock that is held, and what was stored when it was acquired.
type lease struct {
	held    context.Context
	release func() // must be called even if there is an error
	stored  []Stored
	newer   []string
	err     error
}

// loading loads what is stored in the background. It is for use by one goroutine.
type loading struct {
	store  Store
	cancel context.CancelFunc // of the load in progress; nil if there is none
	done   chan loaded
}

type loaded struct {
	stored []Stored
	newer  []string
	err    error
}

// begin starts to load, again if a load is in progress.
func (l *loading) begin(ctx context.Context) {
	l.drop()
	ctx, l.cancel = context.WithCancel(ctx)
	done := make(chan loaded, 1) // buffered, since the load may be abandoned
	l.done = done
	go func() {
		var all loaded
		all.stored, all.newer, all.err = l.store.Load(ctx)
		done <- all
	}()
}

// end returns what was loaded since the last begin, or loads it now, but waits no
// longer than the context lasts.
func (l *loading) end(ctx context.Context) ([]Stored, []string, error) {
	if l.cancel == nil {
		l.begin(ctx)
	}
	select {
	case all := <-l.done:
		return all.stored, all.newer, all.err
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// drop abandons the load in progress.
func (l *loading) drop() {
	if l.cancel != nil {
		l.cancel()
	}
}

// acquire takes the lock and loads what is stored, both at the same time: taking the
// lock is a write, which takes a server a while.
func acquire(ctx context.Context, lock Lock, store Store) lease {
	loading := loading{store: store}
	defer loading.drop()
	held, release, err := lock.Acquire(ctx, func() { loading.begin(ctx) })
	if err != nil {
		return lease{release: func() {}, err: err}
	}
	l := lease{held: held, release: release}
	l.stored, l.newer, l.err = loading.end(held)
	return l
}
