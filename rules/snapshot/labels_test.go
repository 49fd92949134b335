package snapshot_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func labels(pairs ...string) snapshot.Labels {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return snapshot.NewLabels(m)
}

func TestLabels(t *testing.T) {
	l := labels("b", "2", "a", "1", "empty", "")
	if l.Len() != 3 || labels().Len() != 0 || (snapshot.Labels{}).Len() != 0 {
		t.Errorf("lengths are %d and %d", l.Len(), labels().Len())
	}
	for key, want := range map[string]string{"a": "1", "b": "2", "empty": ""} {
		if got, ok := l.Get(key); !ok || got != want {
			t.Errorf("Get(%q) = %q, %v", key, got, ok)
		}
	}
	for _, key := range []string{"", "1", "2", "c"} { // a value is no key
		if got, ok := l.Get(key); ok {
			t.Errorf("Get(%q) = %q, want none", key, got)
		}
	}
}

func TestLabelsKeyIsSharedByEqualLabelsOnly(t *testing.T) {
	sets := []snapshot.Labels{
		labels(), labels("a", ""), labels("a", "b"), labels("a", "b", "c", "d"), labels("a", "b", "c", ""), labels("ab", ""),
		labels("b", "a"),
	}
	for i := range sets {
		for j := range sets {
			if (sets[i].Key() == sets[j].Key()) != (i == j) {
				t.Errorf("keys of sets %d and %d: %q and %q", i, j, sets[i].Key(), sets[j].Key())
			}
		}
	}
	if labels("a", "1", "b", "2").Key() != labels("b", "2", "a", "1").Key() {
		t.Error("the key depends on the order of the labels")
	}
}

func TestLabelsWith(t *testing.T) {
	l := labels("a", "1")
	got := l.With("b", "2", "a", "other", "left over")
	if got.Key() != labels("a", "1", "b", "2").Key() {
		t.Errorf("With = %q", got.Key())
	}
	if l.Len() != 1 {
		t.Error("With changed what it was called on")
	}
	if (snapshot.Labels{}).With("a", "1").Key() != l.Key() {
		t.Error("With on no labels does not give the pairs")
	}
}

func TestRequirementMatches(t *testing.T) {
	for _, c := range []struct {
		op                   snapshot.Operator
		same, other, nothing bool // with the value, another value, no such label
	}{
		{snapshot.In, true, false, false},
		{snapshot.NotIn, false, true, true},
		{snapshot.Exists, true, true, false},
		{snapshot.DoesNotExist, false, false, true},
		{"Gt", false, false, false},
	} {
		t.Run(string(c.op), func(t *testing.T) {
			r := snapshot.Requirement{Key: "app", Op: c.op, Values: []string{"api", "web"}}
			for name, on := range map[string]struct {
				labels snapshot.Labels
				want   bool
			}{
				"the value":                {labels("app", "web"), c.same},
				"another value":            {labels("app", "db"), c.other},
				"an empty value":           {labels("app", ""), c.other},
				"no label":                 {labels(), c.nothing},
				"the value at another key": {labels("tier", "web"), c.nothing},
			} {
				if got := r.Matches(on.labels); got != on.want {
					t.Errorf("on %s it matches: %v", name, got)
				}
			}
		})
	}
}

func TestSelectorIsAConjunction(t *testing.T) {
	app := snapshot.Requirement{Key: "app", Op: snapshot.In, Values: []string{"web"}}
	old := snapshot.Requirement{Key: "old", Op: snapshot.DoesNotExist}
	for _, c := range []struct {
		name     string
		selector snapshot.Selector
		labels   snapshot.Labels
		want     bool
	}{
		{"no requirement matches anything", nil, labels(), true},
		{"both hold", snapshot.Selector{app, old}, labels("app", "web"), true},
		{"the first does not", snapshot.Selector{app, old}, labels("app", "db"), false},
		{"the second does not", snapshot.Selector{app, old}, labels("app", "web", "old", ""), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.selector.Matches(c.labels); got != c.want {
				t.Errorf("Matches = %v", got)
			}
		})
	}
}

func TestLabelsWithSeparatorsInThemDoNotShareAKey(t *testing.T) {
	a := snapshot.NewLabels(map[string]string{"a": "b\x00c\x00d"})
	b := snapshot.NewLabels(map[string]string{"a": "b", "c": "d"})
	if a.Key() == b.Key() {
		t.Errorf("both have the key %q", a.Key())
	}
}
