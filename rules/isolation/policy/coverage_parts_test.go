package policy

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func asks(key string, op snapshot.Operator, values ...string) snapshot.Requirement {
	return snapshot.Requirement{Key: key, Op: op, Values: values}
}

func TestCoversAllByPartsOfValues(t *testing.T) {
	for _, c := range []struct {
		name      string
		selectors []snapshot.Selector
		want      bool
	}{
		{"what starts so leaves others out", []snapshot.Selector{{asks("a", snapshot.HasPrefix, "x")}}, false},
		{"what does not start so leaves some out", []snapshot.Selector{{asks("a", snapshot.LacksPrefix, "x")}}, false},
		{"what starts so and what does not", []snapshot.Selector{{asks("a", snapshot.HasPrefix, "x")}, {asks("a", snapshot.LacksPrefix, "x")}}, true},
		{"what ends so and what does not", []snapshot.Selector{{asks("a", snapshot.HasSuffix, "x")}, {asks("a", snapshot.LacksSuffix, "x")}}, true},
		{"what contains it and what does not", []snapshot.Selector{{asks("a", snapshot.Contains, "x")}, {asks("a", snapshot.DoesNotContain, "x")}}, true},
		{"a shorter start and what has not the longer one", []snapshot.Selector{{asks("a", snapshot.HasPrefix, "x")}, {asks("a", snapshot.LacksPrefix, "xy")}}, true},
		{"a longer start and what has not the shorter one", []snapshot.Selector{{asks("a", snapshot.HasPrefix, "xy")}, {asks("a", snapshot.LacksPrefix, "x")}}, false},
		{"what contains the start and what does not start so", []snapshot.Selector{{asks("a", snapshot.Contains, "x")}, {asks("a", snapshot.LacksPrefix, "x")}}, true},
		{"what ends so and what does not start so", []snapshot.Selector{{asks("a", snapshot.HasSuffix, "x")}, {asks("a", snapshot.LacksPrefix, "x")}}, false},
		{"one value that starts so and what is not that value", []snapshot.Selector{{asks("a", snapshot.HasPrefix, "x")}, {asks("a", snapshot.NotIn, "xy")}}, true},
		{"one value that starts otherwise", []snapshot.Selector{{asks("a", snapshot.HasPrefix, "x")}, {asks("a", snapshot.NotIn, "yx")}}, false},
		{"two values of which one starts otherwise", []snapshot.Selector{{asks("a", snapshot.HasPrefix, "x")}, {asks("a", snapshot.NotIn, "x", "y")}}, false},
		{"absent or what starts so", []snapshot.Selector{{asks("a", snapshot.DoesNotExist)}, {asks("a", snapshot.HasPrefix, "x")}}, false},
		{"an operator that nobody knows selects nothing", []snapshot.Selector{{asks("a", "Like", "x")}, {asks("a", snapshot.DoesNotExist)}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := coversAll(c.selectors); got != c.want {
				t.Errorf("coversAll = %v, want %v", got, c.want)
			}
		})
	}
}

// Whoever is left out must never be overlooked: coversAll may say yes only where
// trying values finds nobody who is left out.
func TestCoversAllByPartsNeverOverlooksAGap(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	values := []string{"", "x", "y", "xy", "yx", "xyx", "yxy", "xx", "z"}
	var sets []snapshot.Labels
	for i := range (len(values) + 1) * (len(values) + 1) {
		m := map[string]string{}
		for _, key := range []string{"a", "b"} {
			if v := i % (len(values) + 1); v < len(values) {
				m[key] = values[v]
			}
			i /= len(values) + 1
		}
		sets = append(sets, snapshot.NewLabels(m))
	}
	ops := []snapshot.Operator{
		snapshot.In, snapshot.NotIn, snapshot.Exists, snapshot.DoesNotExist, snapshot.Contains, snapshot.DoesNotContain,
		snapshot.HasPrefix, snapshot.LacksPrefix, snapshot.HasSuffix, snapshot.LacksSuffix,
	}
	covered := 0
	for i := range 30_000 {
		selectors := make([]snapshot.Selector, 1+random.IntN(5))
		for j := range selectors {
			for range 1 + random.IntN(2) {
				r := asks([]string{"a", "b"}[random.IntN(2)], ops[random.IntN(len(ops))], []string{"", "x", "xy", "yx"}[random.IntN(4)])
				selectors[j] = append(selectors[j], r)
			}
		}
		if !coversAll(selectors) {
			continue
		}
		covered++
		for _, labels := range sets {
			if !slices.ContainsFunc(selectors, func(s snapshot.Selector) bool { return s.Matches(labels) }) {
				t.Fatalf("set %d: %v leave out %q", i, selectors, labels.Key())
			}
		}
	}
	if covered < 500 {
		t.Errorf("only %d sets of selectors cover everything: the test tries too little", covered)
	}
}
