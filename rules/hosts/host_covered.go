package hosts

import (
	"fmt"
	"slices"

	"github.com/eventuallytrue/audit/rules"
)

// maxListed bounds how many claims to one host an advisory lists. Many hosts may be
// under one wildcard that many claim, and many objects may name one host in their
// spec.tls: to list every claim for each of them would take their product.
const maxListed = 10

// listing is what an advisory lists of the claims to one host.
type listing struct {
	objects []rules.Object // the oldest first, up to maxListed
	owners  []rules.Owner
	more    bool // there are others
	by      map[rules.OwnerID]bool
}

func newListing(list []*claim) *listing {
	l := listingOf(oldestFirst(list))
	l.by = map[rules.OwnerID]bool{}
	for _, c := range list {
		l.by[c.owner.ID()] = true
	}
	return l
}

// listingOf lists claims that are sorted already.
func listingOf(oldest []*claim) *listing {
	listed := oldest[:min(len(oldest), maxListed)]
	return &listing{objects: claimants(listed), owners: owners(listed), more: len(oldest) > maxListed}
}

// unlisted says in a message whether there are claims that are not listed.
func unlisted(more bool) string {
	if !more {
		return ""
	}
	return fmt.Sprintf("; only the oldest %d claims to a host are listed", maxListed)
}

// oldestFirst returns the claims sorted by the age of their objects.
func oldestFirst(list []*claim) []*claim {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b *claim) int {
		return rules.CompareObjects(rules.ObjectOf(a.object, *a.owner, "", ""), rules.ObjectOf(b.object, *b.owner, "", ""))
	})
	return sorted
}

// coveredHosts returns an advisory for each wildcard of one owner over a host of
// another.
func coveredHosts(c *claims) []rules.Advisory {
	var out []rules.Advisory
	wildcards := wildcardBook{claims: c, known: map[wildcardKey]*ownerRuns{}}
	for host, list := range c.byHost {
		if isCatchAll(host) {
			continue
		}
		var claimed *listing
		wildcard, nearest := host, true
		for {
			var ok bool
			if wildcard, ok = parentWildcard(wildcard); !ok {
				break
			}
			// One of an Ingress covers just the one label beside it.
			runs := wildcards.of(wildcard, !nearest || IsWildcard(host))
			nearest = false
			if runs == nil {
				continue
			}
			if claimed == nil {
				claimed = newListing(list)
			}
			if over := runs.foreignTo(claimed); len(over.objects) > 0 {
				out = append(out, rules.Advisory{
					Subject: rules.Subject{Kind: rules.SubjectHost, Name: host},
					Owners:  slices.Concat(over.owners, claimed.owners),
					Message: fmt.Sprintf("%s covers %s", wildcard, host) + unlisted(over.more || claimed.more),
					Objects: slices.Concat(over.objects, claimed.objects),
				})
			}
		}
	}
	return out
}

// wildcardBook knows the claims to wildcards.
type wildcardBook struct {
	*claims
	known map[wildcardKey]*ownerRuns
}

type wildcardKey struct {
	host string
	deep bool
}

// ownerRuns are claims, the oldest first. next says for each of them where the
// next one of another owner stands.
type ownerRuns struct {
	claims  []*claim
	next    []int
	foreign map[soleOwner]*listing
}

// soleOwner is the owner of all claims to a host, if there is one.
type soleOwner struct {
	sole bool
	rules.OwnerID
}

// of returns the claims to a wildcard, or only those that cover any number of
// labels; nil if there are none.
func (b *wildcardBook) of(host string, deep bool) *ownerRuns {
	if len(b.byHost[host]) == 0 {
		return nil
	}
	key := wildcardKey{host, deep}
	runs, ok := b.known[key]
	if ok {
		return runs
	}
	list := slices.DeleteFunc(oldestFirst(b.byHost[host]), func(c *claim) bool { return deep && !c.deep })
	if len(list) > 0 {
		runs = &ownerRuns{claims: list, next: make([]int, len(list)), foreign: map[soleOwner]*listing{}}
		for i := len(list) - 1; i >= 0; i-- {
			runs.next[i] = i + 1
			if i+1 < len(list) && list[i+1].owner.Is(*list[i].owner) {
				runs.next[i] = runs.next[i+1]
			}
		}
	}
	b.known[key] = runs
	return runs
}

// foreignTo lists the claims of owners beside whom another one claims the host.
func (r *ownerRuns) foreignTo(claimed *listing) *listing {
	own := soleOwner{sole: len(claimed.by) == 1}
	if own.sole {
		own.OwnerID = claimed.owners[0].ID()
	}
	if r.foreign[own] == nil {
		var over []*claim
		for i := 0; i < len(r.claims) && len(over) <= maxListed; {
			if own.sole && r.claims[i].owner.ID() == own.OwnerID {
				i = r.next[i]
				continue
			}
			over = append(over, r.claims[i])
			i++
		}
		r.foreign[own] = listingOf(over)
	}
	return r.foreign[own]
}
