package audit_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// fickle is the rule on hosts, except that it evaluates once and then cannot evaluate any
// more: it errs, or says so of the host.
func fickle(errs bool) *rules.Rule {
	r := hosts.Rule()
	run, looks := r.Run, 0
	r.Run = func(in rules.Input) (rules.Result, error) {
		looks++
		switch {
		case looks == 1:
			return run(in)
		case errs:
			return rules.Result{}, errors.New("a host makes no sense")
		}
		return rules.Result{NotEvaluated: []rules.Subject{{Kind: rules.SubjectHost, Name: "shop.example.com"}}}, nil
	}
	return r
}

// TestPublishLeavesAloneWhatCannotBeConfirmed: if a rule does not run the
// second time, what it does not find is as unknown as before.
func TestPublishLeavesAloneWhatCannotBeConfirmed(t *testing.T) {
	for _, c := range []struct {
		name  string
		errs  bool
		facts snapshot.Facts // at the first look
		open  bool           // before
		want  audit.Problem
	}{
		{"the rule errs on what is about to be opened", true, contested(), false, audit.Problem{Where: "confirm with one-owner-per-host", Reason: "a host makes no sense"}},
		{"the rule errs on what is about to be resolved", true, moved(), true, audit.Problem{Where: "confirm with one-owner-per-host", Reason: "a host makes no sense"}},
		{"the subject that is about to be opened cannot be evaluated", false, contested(), false, audit.Problem{Where: "confirm shop.example.com", Reason: "one-owner-per-host can no longer evaluate it"}},
		{"the subject that is about to be resolved cannot be evaluated", false, moved(), true, audit.Problem{Where: "confirm shop.example.com", Reason: "one-owner-per-host can no longer evaluate it"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newMemory()
			if c.open {
				publish(t, store, &world{first: contested(), second: contested()})
			}
			w := &world{first: c.facts, second: contested()}
			res, _, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{fickle(c.errs)}, parse(t, ""), ticking(), publisher(store, w), free{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[audit.State]int{}
			if c.open {
				want[audit.StateOpen] = 1
			}
			if diff := cmp.Diff(want, states(store)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]audit.Problem{c.want}, res.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPublishWithholdsWhatTheConfirmationDoesNotFind: it looks only where the finding was,
// and who else takes part by then it does not see. To end what is stored takes two
// looks that agree.
func TestPublishWithholdsWhatTheConfirmationDoesNotFind(t *testing.T) {
	store := newMemory()
	sweep := func(first, second snapshot.Facts) {
		t.Helper()
		w := &world{first: first, second: second}
		p := publisher(store, w)
		p.Reconciler.Hold = func(string) audit.Hold { return audit.Hold{Sweeps: 3} }
		if _, _, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, ""), ticking(), p, free{}); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		first, second snapshot.Facts
		want          map[audit.State]int
	}{
		{contested(), contested(), map[audit.State]int{audit.StatePending: 1}},
		{contested(), moved(), map[audit.State]int{audit.StatePending: 1}}, // which does not count as seen
		{contested(), contested(), map[audit.State]int{audit.StatePending: 1}},
		{moved(), moved(), map[audit.State]int{}},
		{contested(), contested(), map[audit.State]int{audit.StatePending: 1}},
		{contested(), contested(), map[audit.State]int{audit.StatePending: 1}},
		{contested(), moved(), map[audit.State]int{audit.StatePending: 1}}, // when it would be opened
		{contested(), contested(), map[audit.State]int{audit.StateOpen: 1}},
	} {
		sweep(c.first, c.second)
		if diff := cmp.Diff(c.want, states(store)); diff != "" {
			t.Errorf("sweep %d: stored (-want +got):\n%s", i+1, diff)
		}
	}
}

// joined is the contested cluster after a third namespace claimed the host.
func joined() snapshot.Facts {
	f := contested()
	f.Ingresses = append(f.Ingresses, ingress("c", "shop.example.com"))
	return f
}

// A publisher that read the cluster long ago and publishes now finds what another stored
// meanwhile, who read it later. It must not put back what it read.
func TestPublishDoesNotPutBackWhatChangedAfterItRead(t *testing.T) {
	for _, c := range []struct {
		name        string
		before, now snapshot.Facts
	}{
		{"a claimant came", contested(), joined()},
		{"a claimant went", joined(), contested()},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newMemory()
			publish(t, store, &world{first: c.before, second: c.before})
			publish(t, store, &world{first: c.now, second: c.now})
			writes := store.writes
			late := &world{first: c.before, second: c.now}
			publish(t, store, late)
			if store.writes != writes {
				t.Errorf("it wrote %d times", store.writes-writes)
			}
			// Whether that claimant came or went is only seen where it is.
			if !slices.Contains(late.reread, snapshot.Part{Kind: snapshot.Ingresses, Namespace: "c"}) {
				t.Errorf("it read again only %v", late.reread)
			}
		})
	}
}

func TestPublishStoresAConfirmedChange(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	_, published := publish(t, store, &world{first: joined(), second: joined()})
	if why := published.Transitions[0].Why; why != audit.ReasonChanged || len(published.Transitions[0].Record.Objects) != 3 {
		t.Errorf("it is %s", why)
	}
}

// A change does not resolve: that takes two evaluations that agree.
func TestPublishIgnoresAChangeThatIsNotConfirmed(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	writes := store.writes
	_, published := publish(t, store, &world{first: joined(), second: moved()})
	if store.writes != writes || len(published.Dropped) != 1 {
		t.Errorf("it wrote %d times, and dropped %q", store.writes-writes, published.Dropped)
	}
}

// Where labels and record are stored one after the other, somebody may be ended in
// between and the cluster turn back.
func TestPublishWritesARecordAgainWhoseLabelsAreOfAnother(t *testing.T) {
	for name, w := range map[string]world{
		"open":     {first: contested(), second: contested()},
		"resolved": {first: moved(), second: moved()},
	} {
		t.Run(name, func(t *testing.T) {
			store := newMemory()
			publish(t, store, &world{first: contested(), second: contested()})
			publish(t, store, &w)
			for id, s := range store.records {
				s.Stale = true
				store.records[id] = s
			}
			writes := store.writes
			publish(t, store, &w)
			publish(t, store, &w)
			if store.writes != writes+1 {
				t.Errorf("it wrote %d times, not once", store.writes-writes)
			}
		})
	}
}

// A result says what became of a finding by this sweep, not what was meant to: who
// notifies owners would notify them twice.
func TestResultDoesNotSayThatItOpenedWhatAnotherPublisherOpened(t *testing.T) {
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
	_, published := publish(t, store, &world{first: contested(), second: contested()})
	if got := published.Transitions[0]; got.Why != audit.ReasonConfirmed || got.Write {
		t.Errorf("it says %s, written %t", got.Why, got.Write)
	}
}

// What another publisher deleted in the meantime is gone, and nothing was resolved.
func TestResultDoesNotSayThatItResolvedWhatAnotherPublisherDeleted(t *testing.T) {
	store := newMemory()
	publish(t, store, &world{first: contested(), second: contested()})
	store.before = func(id string) { delete(store.records, id) }
	_, published := publish(t, store, &world{first: moved(), second: moved()})
	if got := published.Transitions[0]; got.Why != audit.ReasonGone || got.Write || !got.Delete {
		t.Errorf("it says %s, written %t", got.Why, got.Write)
	}
}
