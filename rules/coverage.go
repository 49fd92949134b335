package rules

import (
	"slices"

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
	// The shortest selectors leave the least choice, so they come first.
	sorted := slices.Clone(selectors)
	slices.SortStableFunc(sorted, func(a, b snapshot.Selector) int { return len(a) - len(b) })
	search := &gapSearch{selectors: sorted, keys: map[string]domain{}, budget: coverageBudget}
	for _, key := range always {
		search.keys[key] = domain{present: true}
	}
	return len(selectors) > 0 && !search.gap(0) && search.budget > 0
}

// domain is what one label may still be.
type domain struct {
	absent  bool     // it must be absent
	present bool     // it must be present
	only    []string // if not nil: present with one of these
	not     []string // not one of these
}

type gapSearch struct {
	selectors []snapshot.Selector
	keys      map[string]domain
	budget    int
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
// whether anything is left of it.
func (d domain) breaking(r snapshot.Requirement) (domain, bool) {
	switch r.Op {
	case snapshot.In:
		d.not = append(slices.Clone(d.not), r.Values...)
	case snapshot.NotIn:
		d.present = true
		if d.only == nil {
			d.only = r.Values
		} else {
			d.only = intersect(d.only, r.Values)
		}
	case snapshot.Exists:
		d.absent = true
	case snapshot.DoesNotExist:
		d.present = true
	}
	return d, d.possible()
}

func (d domain) possible() bool {
	if d.absent {
		return !d.present
	}
	if d.only == nil {
		return true
	}
	return slices.ContainsFunc(d.only, func(v string) bool { return !slices.Contains(d.not, v) })
}

// intersect returns the strings in both, never nil.
func intersect(a, b []string) []string {
	out := []string{}
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}
