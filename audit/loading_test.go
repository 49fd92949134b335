package audit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
)

// outrun is a lock that somebody else takes and gives back between the first try to
// take it, once everything is loaded, and the second.
type outrun struct {
	loaded chan struct{}
	other  func()
}

func (o outrun) Acquire(ctx context.Context, begin func()) (context.Context, func(), error) {
	begin()
	<-o.loaded
	o.other()
	begin()
	return ctx, func() {}, nil
}

// watched is a store that tells when everything is loaded.
type watched struct {
	*memory
	loaded chan struct{}
}

func (w watched) Load(ctx context.Context) ([]audit.Stored, []string, error) {
	stored, newer, err := w.memory.Load(ctx)
	w.loaded <- struct{}{}
	return stored, newer, err
}

// What is stored is loaded while the lock is being taken. Of a try to take it that
// somebody else outran nothing is used: they may have changed all.
func TestPublishGoesByWhatIsStoredOnceTheLockIsHeld(t *testing.T) {
	store, w := watched{newMemory(), make(chan struct{}, 2)}, &world{first: contested(), second: contested()}
	tries := 0
	store.before = func(string) { tries++ }
	p := publisher(store, w)
	lock := outrun{store.loaded, func() { publish(t, store.memory, w) }}
	_, published, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, ""), ticking(), p, lock)
	if err != nil || len(published.Transitions) != 1 || published.Transitions[0].Why != audit.ReasonConfirmed {
		t.Errorf("error %v, transitions %+v", err, published)
	}
	if tries != 1 {
		t.Errorf("%d writes were tried, not the one of the other publisher alone", tries)
	}
}

// hung is a store that does not answer, but tells when it is no longer asked.
type hung struct {
	audit.Store
	over chan struct{}
}

func (h hung) Load(ctx context.Context) ([]audit.Stored, []string, error) {
	<-ctx.Done()
	close(h.over)
	return nil, nil, ctx.Err()
}

// refused is a lock that cannot be had, after a try to take it.
type refused struct{}

var errRefused = errors.New("somebody else has it")

func (refused) Acquire(_ context.Context, begin func()) (context.Context, func(), error) {
	begin()
	return nil, nil, errRefused
}

func TestPublishGivesUpLoadingWithTheLock(t *testing.T) {
	for name, lock := range map[string]audit.Lock{"a lock that cannot be had": refused{}, "a lock that is lost at once": lost{}} {
		t.Run(name, func(t *testing.T) {
			w := &world{first: contested(), second: contested()}
			store := hung{newMemory(), make(chan struct{})}
			p := publisher(newMemory(), w)
			p.Store = store
			_, _, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, ""), ticking(), p, lock)
			if err == nil {
				t.Error("it publishes")
			}
			<-store.over
		})
	}
}
