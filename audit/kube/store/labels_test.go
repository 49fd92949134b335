package store

import (
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestOwnerLabel(t *testing.T) {
	for _, tt := range []struct{ name, owner, want string }{
		{"a valid label value stays as it is", "team-a", "^team-a$"},
		{"a name with a blank gets a hash", "namespace shop", "^namespace-shop-[0-9a-f]{16}$"},
		{"a name that ends like a hash gets one", "team-a-0123456789abcdef", "^team-a-0123456789abcdef-[0-9a-f]{16}$"},
		{"a long name is cut", strings.Repeat("a", 64), "^a{46}-[0-9a-f]{16}$"},
		{"a cut leaves no mark before the hash", strings.Repeat("a", 45) + "." + strings.Repeat("a", 20), "^a{45}-[0-9a-f]{16}$"},
		{"punctuation at the ends is left out", "-team-a.", "^team-a-[0-9a-f]{16}$"},
		{"a name without a letter gets a generic prefix", "\x00 ё", "^owner-[0-9a-f]{16}$"},
		{"an empty name gets a generic prefix", "", "^owner-[0-9a-f]{16}$"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := OwnerLabel(tt.owner)
			if !regexp.MustCompile(tt.want).MatchString(got) {
				t.Errorf("got %q, want %s", got, tt.want)
			}
			if errs := validation.IsValidLabelValue(got); len(errs) > 0 {
				t.Errorf("%q is no label: %v", got, errs)
			}
		})
	}
}

func TestOwnerLabelsOfDifferentOwnersDiffer(t *testing.T) {
	owners := []string{"team a", "team-a", "team  a", "team/a", "-team-a", "Team a", "", "owner"}
	// An owner may be named like the label of another owner.
	for _, o := range owners {
		owners = append(owners, OwnerLabel(o)+"x", OwnerLabel(o+" "))
	}
	owners = append(owners, OwnerLabel("team a"))
	seen := map[string]string{}
	for _, o := range owners {
		label := OwnerLabel(o)
		if other, ok := seen[label]; ok && other != o {
			t.Errorf("%q and %q are both %q", o, other, label)
		}
		seen[label] = o
	}
}

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
