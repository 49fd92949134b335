package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func in(key string, values ...string) snapshot.Requirement {
	return snapshot.Requirement{Key: key, Op: snapshot.In, Values: values}
}

func notIn(key string, values ...string) snapshot.Requirement {
	return snapshot.Requirement{Key: key, Op: snapshot.NotIn, Values: values}
}

func exists(key string) snapshot.Requirement {
	return snapshot.Requirement{Key: key, Op: snapshot.Exists}
}

func absent(key string) snapshot.Requirement {
	return snapshot.Requirement{Key: key, Op: snapshot.DoesNotExist}
}

func TestCoversAll(t *testing.T) {
	type selectors []snapshot.Selector
	for _, c := range []struct {
		name      string
		selectors selectors
		always    []string
		want      bool
	}{
		{"no selector selects nobody", nil, nil, false},
		{"an empty selector selects everybody", selectors{{in("app", "web")}, {}}, nil, true},
		{"one label leaves others out", selectors{{in("app", "web")}}, nil, false},
		{"a key that is there or not", selectors{{exists("app")}, {absent("app")}}, nil, true},
		{"values and all others", selectors{{in("app", "a", "b")}, {notIn("app", "a", "b")}}, nil, true},
		{"values and others than more of them", selectors{{in("app", "a")}, {notIn("app", "a", "b")}}, nil, false},
		{"two negations that share no value", selectors{{notIn("app", "a")}, {notIn("app", "b")}}, nil, true},
		{"two negations that share a value", selectors{{notIn("app", "a", "c")}, {notIn("app", "b", "c")}}, nil, false},
		{"present with a value, present without it, and absent", selectors{{in("app", "a")}, {exists("app"), notIn("app", "a")}, {absent("app")}}, nil, true},
		{"present with or without a value leaves absent out", selectors{{in("app", "a")}, {exists("app"), notIn("app", "a")}}, nil, false},
		{"a contradiction adds nothing", selectors{{exists("app"), absent("app")}, {in("app", "a"), notIn("app", "a")}}, nil, false},
		{"complements inside a condition on another key", selectors{{in("app", "a"), exists("x")}, {in("app", "a"), absent("x")}, {notIn("app", "a")}}, nil, true},
		{"complements of different keys", selectors{{exists("a")}, {absent("b")}}, nil, false},
		{"three keys in a ring", selectors{{exists("a"), absent("b")}, {exists("b"), absent("c")}, {exists("c"), absent("a")}, {exists("a"), exists("b"), exists("c")}, {absent("a"), absent("b"), absent("c")}}, nil, true},
		{"a key that everybody has", selectors{{exists("name")}}, []string{"name"}, true},
		{"a key that everybody has, with and without a value", selectors{{in("name", "a")}, {notIn("name", "a")}}, []string{"name"}, true},
		{"a key that everybody has need not have a given value", selectors{{in("name", "a", "b")}}, []string{"name"}, false},
		{"the absence of a key that everybody has", selectors{{absent("name")}}, []string{"name"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := coversAll(c.selectors, c.always...); got != c.want {
				t.Errorf("coversAll = %v, want %v", got, c.want)
			}
		})
	}
}

// Beyond its budget the search gives up with the answer that alarms.
func TestCoversAllGivesUpAsNotCovered(t *testing.T) {
	var selectors []snapshot.Selector
	for i := range 40 {
		key := fmt.Sprintf("key-%d", i)
		selectors = append(selectors, snapshot.Selector{exists(key), absent(key)}, snapshot.Selector{absent(key), exists(key)})
	}
	selectors = append(selectors, snapshot.Selector{exists("z"), exists("y")}, snapshot.Selector{exists("z"), absent("y")},
		snapshot.Selector{absent("z"), exists("y")}, snapshot.Selector{absent("z"), absent("y")})
	if coversAll(selectors) {
		t.Skip("the search has become good enough for this")
	}
}

// Whatever selectors there are, coversAll says what trying every set of labels
// does. Three keys, each absent, with one of three values that selectors know, or
// with a fourth that they do not.
func TestCoversAllAgreesWithTryingEverything(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sets := everyLabelSet()
	covered := 0
	for i := range 30000 {
		selectors := make([]snapshot.Selector, 1+random.IntN(6))
		for j := range selectors {
			selectors[j] = randomSelector(random)
		}
		var always []string
		if random.IntN(3) == 0 {
			always = []string{"a"}
		}
		want := !slices.ContainsFunc(sets, func(l snapshot.Labels) bool {
			for _, key := range always {
				if _, ok := l.Get(key); !ok {
					return false
				}
			}
			return !slices.ContainsFunc(selectors, func(s snapshot.Selector) bool { return s.Matches(l) })
		})
		if got := coversAll(selectors, always...); got != want {
			t.Fatalf("set %d: coversAll(%v, always %v) = %v, trying everything says %v", i, selectors, always, got, want)
		}
		if want {
			covered++
		}
	}
	if covered < 1000 {
		t.Errorf("only %d sets of selectors cover everything: the test tries too little", covered)
	}
}

func everyLabelSet() []snapshot.Labels {
	values := []string{"", "1", "2", "3", "unknown"} // empty: absent
	var out []snapshot.Labels
	for i := range len(values) * len(values) * len(values) {
		m := map[string]string{}
		for _, key := range []string{"a", "b", "c"} {
			if v := values[i%len(values)]; v != "" {
				m[key] = v
			}
			i /= len(values)
		}
		out = append(out, snapshot.NewLabels(m))
	}
	return out
}

func randomSelector(random *rand.Rand) snapshot.Selector {
	var s snapshot.Selector
	for range 1 + random.IntN(2) {
		key := []string{"a", "b", "c"}[random.IntN(3)]
		values := []string{"1", "2", "3"}
		random.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		values = values[:1+random.IntN(3)]
		slices.Sort(values)
		s = append(s, []snapshot.Requirement{in(key, values...), notIn(key, values...), exists(key), absent(key)}[random.IntN(4)])
	}
	return s
}

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
