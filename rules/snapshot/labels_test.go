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

// operators are all operators with how many values they take; -1 is any number.
func operators() map[snapshot.Operator]int {
	return map[snapshot.Operator]int{
		snapshot.In: -1, snapshot.NotIn: -1, snapshot.Exists: 0, snapshot.DoesNotExist: 0,
		snapshot.Contains: 1, snapshot.DoesNotContain: 1, snapshot.HasPrefix: 1, snapshot.LacksPrefix: 1,
		snapshot.HasSuffix: 1, snapshot.LacksSuffix: 1,
	}
}

func TestRequirementHolds(t *testing.T) {
	for _, c := range []struct {
		name   string
		op     snapshot.Operator
		values []string
		met    string // by these of the values a, ab, ba, and by none for absence
	}{
		{"one of the values", snapshot.In, []string{"a", "ba"}, "a ba"},
		{"one of no values", snapshot.In, nil, ""},
		{"none of the values, or absent", snapshot.NotIn, []string{"a", "ba"}, "ab none"},
		{"none of no values", snapshot.NotIn, nil, "a ab ba none"},
		{"there", snapshot.Exists, nil, "a ab ba"},
		{"not there", snapshot.DoesNotExist, nil, "none"},
		{"contains", snapshot.Contains, []string{"b"}, "ab ba"},
		{"does not contain, or absent", snapshot.DoesNotContain, []string{"b"}, "a none"},
		{"starts with", snapshot.HasPrefix, []string{"a"}, "a ab"},
		{"does not start with, or absent", snapshot.LacksPrefix, []string{"a"}, "ba none"},
		{"ends with", snapshot.HasSuffix, []string{"b"}, "ab"},
		{"does not end with, or absent", snapshot.LacksSuffix, []string{"b"}, "a ba none"},
		{"an operator without its value", snapshot.Contains, nil, ""},
		{"an unknown operator", "Gt", []string{"1"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := snapshot.Requirement{Key: "key", Op: c.op, Values: c.values}
			got := ""
			for _, value := range []string{"a", "ab", "ba"} {
				if r.Matches(snapshot.NewLabels(map[string]string{"key": value, "other": "b"})) {
					got += " " + value
				}
			}
			if r.Matches(snapshot.NewLabels(map[string]string{"other": "b"})) {
				got += " none"
			}
			if got != "" {
				got = got[1:]
			}
			if got != c.met {
				t.Errorf("met by %q, want %q", got, c.met)
			}
		})
	}
}

func TestRequirementNotIsTheOpposite(t *testing.T) {
	for op, n := range operators() {
		r := snapshot.Requirement{Key: "key", Op: op, Values: []string{"a", "b"}}
		if n >= 0 {
			r.Values = r.Values[:n]
		}
		if r.Positive() == r.Not().Positive() {
			t.Errorf("%s and %s are both positive or both negative", op, r.Not().Op)
		}
		if r.Not().Not().Op != op {
			t.Errorf("the opposite of the opposite of %s is %s", op, r.Not().Not().Op)
		}
		for _, value := range []string{"", "a", "b", "ab", "ba", "c"} {
			for _, present := range []bool{true, false} {
				if r.Holds(value, present) == r.Not().Holds(value, present) {
					t.Errorf("%s and %s agree on %q (present %t)", op, r.Not().Op, value, present)
				}
			}
		}
		if r.Holds("", false) == r.Positive() {
			t.Errorf("%s of an absent label: %t", op, r.Holds("", false))
		}
	}
}
