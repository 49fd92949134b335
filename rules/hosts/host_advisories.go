package hosts

import (
	"fmt"
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// tlsOnlyHosts returns an advisory for each exact host in the spec.tls of an
// owner who does not claim it, while another owner does. A wildcard there is
// just a certificate that many share.
func tlsOnlyHosts(c *claims, in rules.Input) []rules.Advisory {
	var out []rules.Advisory
	known := map[string]*listing{}
	for ing := range in.View.Ingresses() {
		if !claimsHosts(in.View, ing) {
			continue
		}
		owner := in.Owner(&ing.Meta)
		var seen map[string]bool
		for _, h := range ing.TLSHosts {
			host := Normalize(h)
			list := c.byHost[host]
			// Mostly it is the object itself that claims the host.
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
				Message: fmt.Sprintf("%s stands in the spec.tls of %s (tls-only), but another owner claims it", host, ing.Ref()) + unlisted(claimed.more),
				Objects: append([]rules.Object{rules.ObjectOf(&ing.Meta, owner, "tls-only", "host of spec.tls only")}, claimed.objects...),
			})
		}
	}
	return out
}

// unreadableClaims returns an advisory for each annotation that should name
// hosts and does not.
func unreadableClaims(in rules.Input) []rules.Advisory {
	var out []rules.Advisory
	for ing := range in.View.Ingresses() {
		for _, why := range ing.Unreadable {
			owner := in.Owner(&ing.Meta)
			out = append(out, rules.Advisory{
				Subject: rules.SubjectOf(&ing.Meta),
				Owners:  []rules.Owner{owner},
				Message: "hosts that it may claim were not judged: " + why,
				Objects: []rules.Object{rules.ObjectOf(&ing.Meta, owner, "unreadable", "")},
			})
		}
	}
	return out
}

// contradictions returns an advisory for each object that may claim hosts and
// names another owner than its Namespace has.
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
