package audit_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// giddy is the rule on hosts, but that it judges once and then cannot judge any
// more: it errs, or says so of the host.
func giddy(errs bool) *rules.Rule {
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

// TestPublishLeavesAloneWhatASecondLookCannotJudge: of a rule that does not judge the
// second time, what it does not find is no more known than the first time.
func TestPublishLeavesAloneWhatASecondLookCannotJudge(t *testing.T) {
	for _, c := range []struct {
		name  string
		errs  bool
		facts snapshot.Facts // at the first look
		open  bool           // before
		want  audit.Problem
	}{
		{"the rule errs on what is about to be opened", true, contested(), false, audit.Problem{Where: "second look by one-owner-per-host", Reason: "a host makes no sense"}},
		{"the rule errs on what is about to be resolved", true, moved(), true, audit.Problem{Where: "second look by one-owner-per-host", Reason: "a host makes no sense"}},
		{"the subject that is about to be opened cannot be judged", false, contested(), false, audit.Problem{Where: "second look at shop.example.com", Reason: "one-owner-per-host cannot judge it any more"}},
		{"the subject that is about to be resolved cannot be judged", false, moved(), true, audit.Problem{Where: "second look at shop.example.com", Reason: "one-owner-per-host cannot judge it any more"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newMemory()
			if c.open {
				publish(t, store, &world{first: contested(), second: contested()})
			}
			w := &world{first: c.facts, second: contested()}
			res, _, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{giddy(c.errs)}, parse(t, ""), ticking(), publisher(store, w), free{})
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

// TestPublishLetsWaitWhatTheSecondLookDoesNotSee: it looks only where the finding was,
// and who else takes part by then it does not see. To end what is stored takes two
// looks that agree.
func TestPublishLetsWaitWhatTheSecondLookDoesNotSee(t *testing.T) {
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
