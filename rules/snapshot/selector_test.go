package snapshot_test

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
