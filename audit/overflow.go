package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules"
)

// OwnerRank says which owners of a finding come first where there are more of them than
// a store keeps.
type OwnerRank struct {
	Owner string
	Right OwnerRight
	Since time.Time // the creation of their first object of the finding; zero if unknown
}

// OwnerRight is what makes someone an owner of a finding. The least comes first.
type OwnerRight int

// The rights of owners. Anyone who can edit an object can make it name any number of
// owners, which must not push out those of the namespaces.
const (
	RightNamespace OwnerRight = iota // they own a namespace that the finding is about
	RightTeam                        // an object names them, and they own something else or are in the registry
	RightObject                      // an object names them, and nothing else does
)

// compare orders owners by right, and then by their first object: who came later does
// not push out who was there.
func (r OwnerRank) compare(o OwnerRank) int {
	return cmp.Or(cmp.Compare(r.Right, o.Right), cmp.Compare(truth(r.Since.IsZero()), truth(o.Since.IsZero())),
		r.Since.Compare(o.Since), strings.Compare(r.Owner, o.Owner))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fewOwners is a number of owners for which every store has room.
const fewOwners = 20

// ranks ranks the owners of a violation, sorted by name, if they are not few.
func (e *evaluator) ranks(v rules.Violation) []OwnerRank {
	byName := map[string]OwnerRank{}
	for _, o := range v.Owners {
		rank := OwnerRank{Owner: e.owners.notified(o), Right: e.owners.right(o)}
		if known, ok := byName[rank.Owner]; ok {
			rank.Right = min(rank.Right, known.Right)
		}
		byName[rank.Owner] = rank
	}
	if len(byName) <= fewOwners {
		return nil
	}
	for _, o := range v.Objects {
		name := e.owners.notified(rules.Owner{Name: o.Owner, Namespace: o.Namespace})
		rank, ok := byName[name]
		if ok && !o.Created.IsZero() && (rank.Since.IsZero() || o.Created.Before(rank.Since)) {
			rank.Since = o.Created
			byName[name] = rank
		}
	}
	out := make([]OwnerRank, 0, len(byName))
	for _, rank := range byName {
		out = append(out, rank)
	}
	slices.SortFunc(out, func(a, b OwnerRank) int { return strings.Compare(a.Owner, b.Owner) })
	return out
}

// right returns what makes someone the owner of an object.
func (o *owners) right(owner rules.Owner) OwnerRight {
	switch {
	// Only the platform can write what is in no namespace.
	case !owner.Known(), owner.Namespace == "", o.namespace(owner.Namespace).owner.Name == owner.Name:
		return RightNamespace
	case o.config.Owners.Team(owner.Name) != nil, o.ownsNamespace(owner.Name):
		return RightTeam
	}
	return RightObject
}

// ownsNamespace reports whether someone owns any namespace of the cluster.
func (o *owners) ownsNamespace(name string) bool {
	o.ofNamespaces.Do(func() {
		o.byNamespace = map[string]bool{}
		for _, ns := range o.snap.NamespaceNames() {
			o.byNamespace[o.namespace(ns).owner.Name] = true
		}
	})
	return o.byNamespace[name]
}

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

// makeRoom removes what a store has no room for: notifications of those who are no
// longer owners of a finding first, then those of owners who are not in the record.
func (t *Transition) makeRoom(most int) {
	rec := &t.Record
	left := len(rec.Notifications) - most
	if most <= 0 || left <= 0 {
		return
	}
	for _, of := range [][]string{slices.Concat(rec.Owners, t.overflow), rec.Owners} {
		rec.Notifications = slices.DeleteFunc(slices.Clone(rec.Notifications), func(n Notification) bool {
			remove := left > 0 && !slices.Contains(of, n.Owner)
			if remove {
				left--
			}
			return remove
		})
	}
}

// OwnersNotNotified counts the owners who are not notified because a finding has too
// many, by the transitions of a sweep.
func (p *Published) OwnersNotNotified() int {
	n := 0
	for _, t := range p.Transitions {
		n += t.unnotified()
	}
	return n
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
