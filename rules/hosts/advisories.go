package hosts

import (
	"fmt"
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// tlsOnlyHosts returns an advisory for each exact host in the spec.tls of an owner
// that does not claim it while another owner does. A wildcard there is just a
// certificate that many share.
func tlsOnlyHosts(c *claims, in rules.Input) []rules.Advisory {
	var out []rules.Advisory
	known := map[string]*listing{}
	for ing := range in.View.Ingresses() {
		owner := in.Owner(&ing.Meta)
		var seen map[string]bool
		for _, h := range ing.TLSHosts {
			host := Normalize(h)
			list := c.byHost[host]
			// Usually the object itself claims the host.
			if host == "" || IsWildcard(host) || seen[host] || len(list) == 0 || list[0].owner.Is(owner) {
				continue
			}
			if seen == nil {
				seen = map[string]bool{}
			}
			seen[host] = true
			if known[host] == nil {
				known[host] = newListing(list)
			}
			claimed := known[host]
			if claimed.by[owner.ID()] {
				continue
			}
			out = append(out, rules.Advisory{
				Subject: rules.Subject{Kind: rules.SubjectHost, Name: host},
				Owners:  append(slices.Clone(claimed.owners), owner),
				Message: fmt.Sprintf("%s appears in spec.tls of %s (tls-only), but another owner claims it", host, ing.Ref()) + unlisted(claimed.more),
				Objects: append([]rules.Object{rules.ObjectOf(&ing.Meta, owner, "tls-only", "host of spec.tls only")}, claimed.objects...),
			})
		}
	}
	return out
}

// unreadableClaims returns an advisory for each field of an Ingress that its controller
// reads and that should name hosts but cannot be read.
func unreadableClaims(in rules.Input, classes *classes) []rules.Advisory {
	var out []rules.Advisory
	for ing := range in.View.Ingresses() {
		if len(ing.Unreadable) == 0 {
			continue
		}
		controller := classes.of(ing).known
		for _, u := range ing.Unreadable {
			if controller.Reads(u.Source) {
				out = append(out, unreadable(in, &ing.Meta, u.Reason))
			}
		}
	}
	return out
}

// unreadFields returns the Ingresses with a field by which their controller may serve
// hosts, but which can't be read.
func unreadFields(in rules.Input, classes *classes) []snapshot.Fault {
	var out []snapshot.Fault
	for ing := range in.View.Ingresses() {
		controller := classes.of(ing).known
		for _, u := range ing.Unreadable {
			if u.MayClaim && controller.Reads(u.Source) {
				out = append(out, snapshot.Fault{Ref: ing.Ref(), Resource: ing.Resource(), Reason: u.Reason})
			}
		}
	}
	return out
}

// unreadable returns the advisory that some hosts of an object are unknown.
func unreadable(in rules.Input, object *snapshot.Meta, why string) rules.Advisory {
	owner := in.Owner(object)
	return rules.Advisory{
		Subject: rules.SubjectOf(object),
		Owners:  []rules.Owner{owner},
		Message: "hosts that it may claim were not evaluated: " + why,
		Objects: []rules.Object{rules.ObjectOf(object, owner, "unreadable", "")},
	}
}

// contradictions returns an advisory for each object that may claim hosts and
// names a different owner than its Namespace.
func contradictions(in rules.Input) []rules.Advisory {
	var out []rules.Advisory
	check := func(m *snapshot.Meta) {
		if a, ok := rules.Contradiction(m, in.Owner(m)); ok {
			out = append(out, a)
		}
	}
	for ing := range in.View.Ingresses() {
		check(&ing.Meta)
	}
	for set := range in.View.ListenerSets() {
		check(&set.Meta)
	}
	for route := range in.View.Routes() {
		check(&route.Meta)
	}
	for o := range in.View.HostObjects() {
		check(&o.Meta)
	}
	return out
}

// maxListed bounds how many claims to one host an advisory lists. Many hosts may be
// under one wildcard that many objects claim, and many objects may name one host in
// spec.tls: listing every claim for each of them would take their product.
const maxListed = 10

// listing is the claims to one host as an advisory lists them.
type listing struct {
	objects []rules.Object // oldest first, up to maxListed
	owners  []rules.Owner
	more    bool // whether there are others
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

// listingOf lists claims that are already sorted.
func listingOf(oldest []*claim) *listing {
	listed := oldest[:min(len(oldest), maxListed)]
	return &listing{objects: claimants(listed), owners: owners(listed), more: len(oldest) > maxListed}
}

// unlisted is appended to a message if there are claims that are not listed.
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
	wildcards := wildcardIndex{claims: c, known: map[wildcardKey]*ownerRuns{}}
	for host, list := range c.byHost {
		if isCatchAll(host) || isExpression(host) {
			continue
		}
		var claimed *listing
		wildcard, nearest := host, true
		for {
			var ok bool
			if wildcard, ok = parentWildcard(wildcard); !ok {
				break
			}
			// A wildcard of an Ingress covers exactly one label.
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

// wildcardIndex finds the claims to wildcards.
type wildcardIndex struct {
	*claims
	known map[wildcardKey]*ownerRuns
}

type wildcardKey struct {
	host string
	deep bool
}

// ownerRuns are claims, oldest first. next is for each of them the index of the
// next one of another owner.
type ownerRuns struct {
	claims  []*claim
	next    []int
	foreign map[soleOwner]*listing
}

// soleOwner is the owner of all claims to a host, if they have one owner.
type soleOwner struct {
	sole bool
	rules.OwnerID
}

// of returns the claims to a wildcard, or only those that cover any number of
// labels. It returns nil if there are none.
func (b *wildcardIndex) of(host string, deep bool) *ownerRuns {
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

// foreignTo lists the claims of owners other than the only owner of the claimed
// host, or all claims if that host has several owners.
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
