package policy

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// coverageBudget bounds the search of coversAll. Selectors met in practice need
// a handful of steps; beyond the bound the answer is no, which at worst reports a
// complete set of policies as incomplete.
const coverageBudget = 4096

// coversAll reports whether every possible set of labels is matched by at least
// one of the selectors. always are keys that every object in question has.
//
// It looks for a set of labels that all selectors miss: a choice of one
// requirement to break in each selector such that the choices agree on every
// key.
func coversAll(selectors []snapshot.Selector, always ...string) bool {
	for _, s := range selectors {
		if len(s) == 0 {
			return true
		}
	}
	if missed := missPlainLabels(selectors, always...); missed[0] || missed[1] {
		return false
	}
	// The shortest selectors leave the least choice, so they come first.
	sorted := slices.Clone(selectors)
	slices.SortStableFunc(sorted, func(a, b snapshot.Selector) int { return len(a) - len(b) })
	search := &gapSearch{selectors: sorted, keys: map[string]domain{}, budget: coverageBudget}
	for _, key := range always {
		search.keys[key] = domain{present: true}
	}
	return !search.gap(0) && search.budget > 0
}

// unmentioned stands for a value that no selector mentions.
const unmentioned = "\x00"

// missPlainest reports whether all selectors miss the plainest sets of labels: none
// but those that are always there, and every label with a value of its own.
// Thousands of selectors that each ask for something else do, and no search is
// needed to see it.
func missPlainLabels(selectors []snapshot.Selector, always ...string) (missed [2]bool) {
	for i, present := range []bool{false, true} {
		fails := func(r snapshot.Requirement) bool {
			return !r.Holds(unmentioned, present || slices.Contains(always, r.Key))
		}
		missed[i] = !slices.ContainsFunc(selectors, func(s snapshot.Selector) bool { return !slices.ContainsFunc(s, fails) })
	}
	return missed
}

// domain is the values that one label may still have.
type domain struct {
	absent  bool     // it must be absent
	present bool     // it must be present
	only    []string // if not nil: present with one of these
	// holds are the positive requirements it meets, and fails those it does not
	// meet, perhaps because the label is absent.
	holds, fails []snapshot.Requirement
}

type gapSearch struct {
	selectors []snapshot.Selector
	// keys are the domains on the current path. Domains share their lists.
	keys   map[string]domain
	budget int
}

// gap reports whether some labels within the current domains are missed by all
// selectors from the i-th on.
func (g *gapSearch) gap(i int) bool {
	if i == len(g.selectors) {
		return true
	}
	for _, r := range g.selectors[i] {
		if g.budget--; g.budget <= 0 {
			return true
		}
		before := g.keys[r.Key]
		after, ok := before.breaking(r)
		if !ok {
			continue
		}
		g.keys[r.Key] = after
		if g.gap(i + 1) {
			return true
		}
		g.keys[r.Key] = before
	}
	return false
}

// breaking narrows the domain so that the requirement does not hold, and reports
// whether it may still have a value.
func (d domain) breaking(r snapshot.Requirement) (domain, bool) {
	switch {
	case r.Op == snapshot.Exists:
		d.absent = true
	case r.Positive():
		d.fails = append(d.fails, r)
		d.only = without(d.only, func(value string) bool { return r.Holds(value, true) })
	default:
		d.present = true
		r = r.Not()
		switch {
		case r.Op == snapshot.Exists:
		case r.Op == snapshot.In && d.only == nil:
			d.only = without(r.Values, func(value string) bool { return !d.admits(value) })
		default:
			d.holds = append(d.holds, r)
			d.only = without(d.only, func(value string) bool { return !r.Holds(value, true) })
		}
	}
	return d, d.possible()
}

// without returns the values without some of them. It returns nil only for nil.
func without(values []string, some func(string) bool) []string {
	if !slices.ContainsFunc(values, some) {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), some)
}

// possible reports whether the label can have a value or be absent. It returns
// false only when that is certain; otherwise a gap would be missed, and policies
// that leave pods out would count as complete.
func (d domain) possible() bool {
	switch {
	case d.absent:
		return !d.present
	case d.only != nil:
		return len(d.only) > 0
	case !d.present:
		return true
	}
	// Values can't be exhausted by listing them, so only requirements that exclude
	// each other leave none.
	return !slices.ContainsFunc(d.fails, func(fails snapshot.Requirement) bool {
		return slices.ContainsFunc(d.holds, func(holds snapshot.Requirement) bool { return implies(holds, fails) })
	})
}

// admits reports whether the label may have the value.
func (d domain) admits(value string) bool {
	holds := func(r snapshot.Requirement) bool { return r.Holds(value, true) }
	return !slices.ContainsFunc(d.fails, holds) &&
		!slices.ContainsFunc(d.holds, func(r snapshot.Requirement) bool { return !holds(r) })
}

// implies reports whether every value that meets a certainly meets b, where both
// are requirements on a part of the value.
func implies(a, b snapshot.Requirement) bool {
	if len(a.Values) != 1 || len(b.Values) != 1 {
		return false
	}
	switch part, of := b.Values[0], a.Values[0]; b.Op {
	case snapshot.Contains:
		return strings.Contains(of, part)
	case snapshot.HasPrefix:
		return a.Op == snapshot.HasPrefix && strings.HasPrefix(of, part)
	case snapshot.HasSuffix:
		return a.Op == snapshot.HasSuffix && strings.HasSuffix(of, part)
	}
	return false
}

// pairLabels are the labels that every pair of Namespace and pod has.
func pairLabels() []string {
	return []string{"n " + snapshot.NamespaceNameLabel, "p " + snapshot.ServiceAccountKey}
}

// pairsOf returns the pairs of Namespace and pod that peers select, as selectors
// over the labels of both, distinguished by a prefix.
func pairsOf(peers *snapshot.Peers) []snapshot.Selector {
	var selectors []snapshot.Selector
	for _, p := range peers.Pods {
		if !p.OwnNamespace {
			selectors = append(selectors, slices.Concat(prefixed("n ", p.Namespaces), prefixed("p ", p.Pods)))
		}
	}
	return selectors
}

func prefixed(prefix string, s snapshot.Selector) snapshot.Selector {
	out := make(snapshot.Selector, len(s))
	for i, r := range s {
		r.Key = prefix + r.Key
		out[i] = r
	}
	return out
}

// selectorsKey returns a key that is equal only for equal selectors.
func selectorsKey(e snapshot.SetEngine, selectors []snapshot.Selector) string {
	key := []byte{byte(e)}
	for _, s := range selectors {
		for _, r := range s {
			key = append(append(append(append(key, 1), r.Key...), 2), r.Op...)
			for _, v := range r.Values {
				key = append(append(key, 3), v...)
			}
		}
		key = append(key, 4)
	}
	return string(key)
}
