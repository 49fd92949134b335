package policy

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// coverageBudget bounds the search of coversAll. Selectors met in practice need
// a handful of steps; beyond the bound the answer is no, which at worst calls a
// complete set of policies incomplete.
const coverageBudget = 4096

// coversAll reports whether every possible set of labels is matched by at least
// one of the selectors: whether together they leave no pod out. always are keys
// that every object in question carries.
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
	if missed := missPlainest(selectors, always...); missed[0] || missed[1] {
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

// unspoken stands for a value that no selector speaks of.
const unspoken = "\x00"

// missPlainest reports whether all selectors miss the plainest sets of labels: none
// but those that are always there, and every label with a value of its own.
// Thousands of selectors that each ask for something else do, and no search is
// needed to see it.
func missPlainest(selectors []snapshot.Selector, always ...string) (missed [2]bool) {
	for i, present := range []bool{false, true} {
		fails := func(r snapshot.Requirement) bool {
			return !r.Holds(unspoken, present || slices.Contains(always, r.Key))
		}
		missed[i] = !slices.ContainsFunc(selectors, func(s snapshot.Selector) bool { return !slices.ContainsFunc(s, fails) })
	}
	return missed
}

// domain is what one label may still be.
type domain struct {
	absent  bool     // it must be absent
	present bool     // it must be present
	only    []string // if not nil: present with one of these
	// holds are positive requirements that it meets, and fails are those that it
	// does not meet, be it for want of the label.
	holds, fails []snapshot.Requirement
}

type gapSearch struct {
	selectors []snapshot.Selector
	// keys are those on the one path that is tried. What a domain lists it shares
	// with those before it.
	keys   map[string]domain
	budget int
}

// gap reports whether some labels are missed by all selectors from the i-th on,
// within what the keys may still be.
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
// whether anything may be left of it.
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

// without returns the values but for some: nil only where there were none at
// first.
func without(values []string, some func(string) bool) []string {
	if !slices.ContainsFunc(values, some) {
		return values
	}
	return slices.DeleteFunc(slices.Clone(values), some)
}

// possible reports whether the label can be anything at all. It says no only
// where that is certain: else a gap would be overlooked, and what leaves pods
// out be taken for complete.
func (d domain) possible() bool {
	switch {
	case d.absent:
		return !d.present
	case d.only != nil:
		return len(d.only) > 0
	case !d.present:
		return true
	}
	// There are more values than anybody could list, so only requirements that
	// exclude each other leave none.
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

// implies reports whether every value that meets one requirement on a part of
// the value certainly meets the other, too.
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
