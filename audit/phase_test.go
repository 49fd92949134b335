package audit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
)

func phaseNames(res *audit.Result) []string {
	var names []string
	for _, p := range res.Phases {
		names = append(names, p.Name)
	}
	return names
}

func TestPhasesOfASweepThatPublishes(t *testing.T) {
	res, _ := publish(t, newMemory(), &world{first: contested(), second: contested()})
	want := []string{"read", "evaluate", "wait", "confirm", "store"}
	if diff := cmp.Diff(want, phaseNames(res)); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
	for _, p := range res.Phases {
		if p.Took != time.Second {
			t.Errorf("phase %s took %s by a clock that ticks once in each", p.Name, p.Took)
		}
	}
}

// unreachable is a store that cannot be reached.
type unreachable struct{ *memory }

func (unreachable) Load(context.Context) ([]audit.Stored, []string, error) {
	return nil, nil, errors.New("no route to host")
}

func TestPhasesOfASweepThatCannotPublishAreTold(t *testing.T) {
	store := unreachable{newMemory()}
	w := &world{first: contested(), second: contested()}
	res, _, err := audit.SweepAndPublish(t.Context(), w, []*rules.Rule{hosts.Rule()}, parse(t, ""), ticking(), publisher(store, w), free{})
	if err == nil {
		t.Fatal("findings that cannot be loaded are no error")
	}
	if diff := cmp.Diff([]string{"read", "evaluate", "wait"}, phaseNames(res)); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}
