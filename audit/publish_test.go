package audit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func ingress(namespace, host string) snapshot.Ingress {
	return snapshot.Ingress{
		Meta:  snapshot.Meta{Group: "networking.k8s.io", Kind: "Ingress", Namespace: namespace, Name: "web"},
		Hosts: []snapshot.HostClaim{{Host: host, Source: snapshot.FromRule}},
	}
}

// contested is a cluster in which two namespaces claim a host.
func contested() snapshot.Facts {
	return snapshot.Facts{Ingresses: []snapshot.Ingress{ingress("a", "shop.example.com"), ingress("b", "shop.example.com")}}
}

// moved is the same cluster after one of them let go of it.
func moved() snapshot.Facts {
	return snapshot.Facts{Ingresses: []snapshot.Ingress{ingress("a", "shop.example.com"), ingress("b", "blog.example.com")}}
}

func publisher(store audit.Store, w *world) *audit.Publisher {
	return &audit.Publisher{
		Store: store, Source: w,
		Reconciler: audit.Reconciler{Hold: func(string) audit.Hold { return audit.Hold{} }, Keep: time.Hour},
	}
}

func publish(t *testing.T, store *memory, w *world) (*audit.Result, *audit.Published) {
	t.Helper()
	set := []*rules.Rule{hosts.Rule()}
	res, published, err := audit.SweepAndPublish(t.Context(), w, set, parse(t, ""), ticking(), publisher(store, w), free{})
	if err != nil {
		t.Fatal(err)
	}
	if len(published.Failed) > 0 {
		t.Fatalf("not written: %q", published.Failed)
	}
	return res, published
}

func states(store *memory) map[audit.State]int {
	n := map[audit.State]int{}
	for _, s := range store.records {
		n[s.State]++
	}
	return n
}

func TestPublishOpensWhatIsConfirmed(t *testing.T) {
	store := newMemory()
	res, published := publish(t, store, &world{first: contested(), second: contested()})
	if states(store)[audit.StateOpen] != 1 || len(res.Findings) != 1 || len(published.Dropped) != 0 {
		t.Errorf("stored %v, reported %d, dropped %q", states(store), len(res.Findings), published.Dropped)
	}
}

func TestPublishDropsWhatWasFixedBetweenTwoLists(t *testing.T) {
	store := newMemory()
	res, published := publish(t, store, &world{first: contested(), second: moved()})
	if len(store.records) != 0 || len(res.Findings) != 0 || len(published.Dropped) != 1 {
		t.Errorf("stored %v, reported %d, dropped %q", states(store), len(res.Findings), published.Dropped)
	}
}

func TestPublishDoesNotResolveWhatIsFoundAgain(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	_, published := publish(t, store, &world{first: moved(), second: contested()})
	if states(store)[audit.StateOpen] != 1 || len(published.Dropped) != 1 {
		t.Errorf("stored %v, dropped %q", states(store), published.Dropped)
	}
}

func TestPublishLeavesAloneWhatCannotBeReadAgain(t *testing.T) {
	store := newMemory()
	res, _ := publish(t, store, &world{first: contested(), unreadable: true})
	if len(store.records) != 0 {
		t.Errorf("opened on the word of one list: %v", states(store))
	}
	// It is not in the report, which must not look as if it were not there.
	if res.Complete() || len(res.Findings) != 0 {
		t.Errorf("complete: %v, with %d findings", res.Complete(), len(res.Findings))
	}
	want := []audit.Problem{
		{Where: "confirm ingresses.networking.k8s.io in namespace a", Reason: "HTTP 503: busy"},
		{Where: "confirm ingresses.networking.k8s.io in namespace b", Reason: "HTTP 503: busy"},
		{Where: "confirm namespace a", Reason: "HTTP 503: busy"},
		{Where: "confirm namespace b", Reason: "HTTP 503: busy"},
	}
	if diff := cmp.Diff(want, res.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	publish(t, store, &world{first: contested(), second: contested()})
	publish(t, store, &world{first: moved(), unreadable: true})
	if states(store)[audit.StateOpen] != 1 {
		t.Errorf("resolved on the word of one list: %v", states(store))
	}
}

func TestPublishResolvesNothingOfAKindThatCannotBeRead(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	writes := store.writes
	res, _ := publish(t, store, &world{status: snapshot.Forbidden})
	if states(store)[audit.StateOpen] != 1 || store.writes != writes {
		t.Errorf("stored %v after %d writes more", states(store), store.writes-writes)
	}
	if len(res.Findings) != 1 || res.Complete() {
		t.Errorf("%d findings are carried over, complete %v", len(res.Findings), res.Complete())
	}
}

func TestPublishOfAnUnchangedWorldWritesAndRereadsNothing(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	writes, w := store.writes, &world{first: contested(), second: contested()}
	publish(t, store, w)
	if store.writes != writes || len(w.reread) != 0 {
		t.Errorf("%d writes and %d parts read again", store.writes-writes, len(w.reread))
	}
}

func TestPublishRereadsOnlyWhatTheFindingRestsOn(t *testing.T) {
	w := &world{first: contested(), second: contested()}
	publish(t, newMemory(), w)
	for _, p := range w.reread {
		if p.Namespace != "a" && p.Namespace != "b" || p.Kind != snapshot.Ingresses && p.Kind != snapshot.Namespaces {
			t.Errorf("%s of namespace %q was read again", p.Kind, p.Namespace)
		}
	}
}

func TestPublishDecidesAgainWhereAnotherPublisherWasFirst(t *testing.T) {
	store := newMemory()
	var once sync.Once
	store.before = func(string) {
		once.Do(func() {
			other := newMemory()
			publish(t, other, &world{first: contested(), second: contested()})
			for _, s := range other.records {
				store.put(s.Record)
			}
		})
	}
	publish(t, store, &world{first: contested(), second: contested()})
	if states(store)[audit.StateOpen] != 1 || store.writes != 1 {
		t.Errorf("stored %v in %d writes, want the other's alone", states(store), store.writes)
	}
}

func TestManyPublishersOpenEachThingOnce(t *testing.T) {
	store := newMemory()
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { publish(t, store, &world{first: contested(), second: contested()}) })
	}
	wait.Wait()
	if len(store.records) != 1 || store.writes != 1 {
		t.Errorf("%d findings in %d writes", len(store.records), store.writes)
	}
}

func TestPublishRepairsAnIncompleteFinding(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	for id, s := range store.records {
		bare := audit.Stored{Version: s.Version, Incomplete: true}
		bare.ID, bare.Rule, bare.Subject = s.ID, s.Rule, s.Subject
		store.records[id] = bare
	}
	publish(t, store, &world{first: contested(), second: contested()})
	if states(store)[audit.StateOpen] != 1 {
		t.Errorf("stored %v", states(store))
	}
	for _, s := range store.records {
		if s.Message == "" || s.FirstSeen.IsZero() || s.OpenedAt.IsZero() {
			t.Errorf("repaired to %+v", s.Record)
		}
	}
}

// lost is a lock that is lost as soon as it is held.
type lost struct{}

func (lost) Acquire(ctx context.Context, _ func()) (context.Context, func(), error) {
	held, cancel := context.WithCancel(ctx)
	cancel()
	return held, func() {}, nil
}

func TestPublishWritesNothingOnceTheLockIsLost(t *testing.T) {
	store, w := newMemory(), &world{first: contested(), second: contested()}
	_, _, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, ""), ticking(), publisher(store, w), lost{})
	if err == nil || store.writes != 0 {
		t.Errorf("error %v after %d writes", err, store.writes)
	}
}

// unprotected is a cluster with a pod in a namespace, whose policy may be there.
func unprotected(policy bool) snapshot.Facts {
	f := snapshot.Facts{Pods: []snapshot.Pod{{Meta: snapshot.Meta{Kind: "Pod", Namespace: "a", Name: "web"}}}}
	if policy {
		f.Policies = []snapshot.Policy{{
			Meta: snapshot.Meta{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: "a", Name: "deny"},
			Tier: snapshot.TierDefault, Subject: snapshot.Subject{{OwnNamespace: true}}, Isolates: [2]bool{true, true},
		}}
	}
	return f
}

func TestPublishSeesAPolicyThatCameBetweenTwoLists(t *testing.T) {
	set := []*rules.Rule{isolation.Rule()}
	for _, c := range []struct {
		name          string
		first, second bool
		open          int
	}{
		{"the policy is there when confirming, so nothing is opened", false, true, 0},
		{"the policy is on neither, so both directions are opened", false, false, 2},
		{"the policy is on both", true, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, w := newMemory(), &world{first: unprotected(c.first), second: unprotected(c.second)}
			_, published, err := audit.SweepAndPublish(t.Context(), w, set, parse(t, ""), ticking(), publisher(store, w), free{})
			if err != nil {
				t.Fatal(err)
			}
			if got := states(store)[audit.StateOpen]; got != c.open || len(store.records) != c.open {
				t.Errorf("%d are open of %d stored, want %d; dropped %q", got, len(store.records), c.open, published.Dropped)
			}
		})
	}
}

// outrun is a lock that another publisher takes and gives back between the first try to
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

// watched is a store that signals when everything is loaded.
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
// another publisher won nothing is used: it may have changed everything.
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

// hung is a store that does not answer, but signals when it is no longer asked.
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

var errRefused = errors.New("another publisher holds it")

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

// refusing is a store that takes nothing.
type refusing struct{ *memory }

func (refusing) Create(context.Context, audit.Record) (audit.Stored, error) {
	return audit.Stored{}, errors.New("it is full")
}

func TestTransitionThatCouldNotBeStoredSaysSo(t *testing.T) {
	w := &world{first: contested(), second: contested()}
	for _, c := range []struct {
		name  string
		store audit.Store
		want  bool
	}{
		{"one that was stored", newMemory(), false},
		{"one that was not", refusing{newMemory()}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, published, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, ""),
				ticking(), publisher(c.store, w), free{})
			if err != nil {
				t.Fatal(err)
			}
			if all := published.Transitions; len(all) != 1 || all[0].Unwritten != c.want || (len(published.Failed) > 0) != c.want {
				t.Errorf("%+v, failed: %v", all, published.Failed)
			}
		})
	}
}
