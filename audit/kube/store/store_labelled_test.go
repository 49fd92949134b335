package store

import "testing"

func TestLabelled(t *testing.T) {
	want := map[string]string{ruleLabel: "a", stateLabel: "Open"}
	for _, c := range []struct {
		says string
		have map[string]string
		is   bool
	}{
		{"the same are", map[string]string{ruleLabel: "a", stateLabel: "Open"}, true},
		{"those of others do not count", map[string]string{ruleLabel: "a", stateLabel: "Open", "team": "x"}, true},
		{"one that is missing does", map[string]string{ruleLabel: "a", "team": "x"}, false},
		{"so does another value", map[string]string{ruleLabel: "a", stateLabel: "Resolved"}, false},
		{"and one that should not be there", map[string]string{ruleLabel: "a", stateLabel: "Open", ownersLabel + "x": "true"}, false},
		{"none are not", nil, false},
	} {
		if got := labelled(c.have, want); got != c.is {
			t.Errorf("%s: labelled is %t", c.says, got)
		}
	}
}
