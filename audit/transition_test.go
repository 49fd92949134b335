package audit_test

import (
	"context"
	"errors"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestWhatOfAChangeMatters(t *testing.T) {
	worse, joined, reworded := shop(), shop(), shop()
	worse.Severity = rules.Low
	joined.Objects = []rules.Object{{Ref: snapshot.Ref{Kind: "Pod", Name: "web"}}}
	reworded.Message = "it stands open"
	for _, c := range []struct {
		name   string
		judged audit.Finding
		want   bool
	}{
		{"another severity matters", worse, true},
		{"another object matters", joined, true},
		{"other words do not", reworded, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }}
			got := r.Reconcile(record(audit.StateOpen, nil), ran(c.judged))
			if len(got) != 1 || got[0].Why != audit.ReasonChanged || got[0].Significant() != c.want {
				t.Errorf("%+v", got)
			}
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
