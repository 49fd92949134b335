package audit

import (
	"cmp"
	"fmt"
	"slices"
)

// keepOwners limits the owners of a finding to those for whom a store has room, and
// returns the others. Where there are others, the fallback owner is an owner, too, so
// that someone is notified in their place. was is what is stored of the finding: of
// equal right, its owners keep their place.
func (r Reconciler) keepOwners(f *Finding, was []string) (overflow []string) {
	ranks := f.Ranks
	f.Ranks, f.MoreOwners = nil, 0
	if r.MaxNotifications <= 0 || r.fitting(f.Rule, f.Owners) == len(f.Owners) {
		return nil
	}
	byName := map[string]OwnerRank{}
	for _, rank := range ranks {
		byName[rank.Owner] = rank
	}
	all := slices.Clone(f.Owners)
	rankOf := func(owner string) OwnerRank {
		if rank, ok := byName[owner]; ok {
			return rank
		}
		return OwnerRank{Owner: owner, Right: RightObject}
	}
	slices.SortFunc(all, func(a, b string) int {
		x, y := rankOf(a), rankOf(b)
		return cmp.Or(cmp.Compare(x.Right, y.Right), cmp.Compare(truth(!slices.Contains(was, a)), truth(!slices.Contains(was, b))), x.compare(y))
	})
	if fallback := r.Fallback; fallback != "" {
		all = slices.Insert(slices.DeleteFunc(all, func(o string) bool { return o == fallback }), 0, fallback)
	}
	n := r.fitting(f.Rule, all)
	f.Owners, overflow = slices.Sorted(slices.Values(all[:n])), slices.Sorted(slices.Values(all[n:]))
	f.MoreOwners = len(overflow)
	return overflow
}

// fitting returns how many of the owners of a finding a store can keep, with their
// notifications.
func (r Reconciler) fitting(rule string, owners []string) int {
	notifications := 0
	for i, o := range owners {
		if r.Senders != nil {
			notifications += len(r.Senders(rule, o))
		}
		if max(i+1, notifications) > r.MaxNotifications {
			return i
		}
	}
	return len(owners)
}

// unnotified counts the owners of a finding who are not notified because it has too
// many.
func (t *Transition) unnotified() int {
	if t.Delete || t.Record.State == StateResolved {
		return 0
	}
	return t.Record.MoreOwners
}

// overflowProblems names the findings that have too many owners.
func overflowProblems(all []Transition, fallback string) []Failure {
	var out []Failure
	for _, t := range all {
		n := t.unnotified()
		if n == 0 {
			continue
		}
		instead := "set owners.fallback in the config to have someone notified in their place"
		if fallback != "" {
			instead = "the fallback owner, " + fallback + ", is notified in their place"
		}
		out = append(out, Failure{
			Stage:  StageDeliver,
			Where:  "owners of " + t.Record.Rule + " " + t.Record.Subject.String(),
			Reason: fmt.Sprintf("%d of %d owners are not notified, because a finding keeps only so many: %s", n, n+len(t.Record.Owners), instead),
		})
	}
	return out
}
