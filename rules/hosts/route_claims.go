package hosts

import (
	"fmt"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// gatewayClaims adds what the objects of the Gateway API claim, by its
// specification and from what is asked for alone. Their status plays no part: it
// comes late, and a route that was refused because its host is taken is just the
// conflict that must be told.
//
// Gateways claim nothing. They are where owners meet, and their listeners say
// which hosts can be claimed there.
func gatewayClaims(c *claims, in rules.Input) {
	p := newParents(in.View)
	listenerSetClaims(c, in, p)
	for route := range in.View.Routes() {
		if !leaving(in.View, &route.Meta) && !isSolverRoute(route) {
			routeClaims(c, in, p, route)
		}
	}
}

// listenerSetClaims adds the hostnames of the listeners that ListenerSets bring
// to a Gateway: whoever owns the set answers for the host there.
func listenerSetClaims(c *claims, in rules.Input, p *parents) {
	for set := range in.View.ListenerSets() {
		parent := p.byRef[set.Ref()]
		if parent == nil {
			continue
		}
		owner := in.Owner(&set.Meta)
		for i := range parent.listeners {
			if l := &parent.listeners[i]; l.host != "" {
				c.addThrough(l.name, l.host, &set.Meta, owner, snapshot.FromListener)
			}
		}
	}
}

// routeClaims adds the claims of one route: what its hostnames have in common
// with each listener that it may attach to.
func routeClaims(c *claims, in rules.Input, p *parents, route *snapshot.Route) {
	hosts := make([]string, len(route.Hostnames), len(route.Hostnames)+1)
	for i, h := range route.Hostnames {
		hosts[i] = Normalize(h)
	}
	if len(hosts) == 0 {
		hosts = append(hosts, "") // whatever the listener has
	}
	owner := in.Owner(&route.Meta)
	for l := range p.attached(route) {
		for _, asked := range hosts {
			host, ok := intersectHosts(asked, l.host)
			if !ok {
				continue
			}
			how := routeSource(asked, host)
			if host == "" {
				host = fmt.Sprintf("* (gateway %s)", l.gateway)
			}
			c.addThrough(l.name, host, &route.Meta, owner, how)
		}
	}
}

// routeSource says how a route came to claim a host, given what it asked for.
func routeSource(asked, host string) snapshot.HostSource {
	switch {
	case host == "":
		return snapshot.FromNoHostname
	case asked == "":
		return snapshot.FromParent
	case asked != host:
		return snapshot.FromNarrowed
	}
	return snapshot.FromHostname
}

// isSolverRoute reports whether a route is a genuine HTTP01 solver of
// cert-manager, which borrows the host of a certificate for a minute: its label,
// an owning Challenge, and only challenge paths.
func isSolverRoute(route *snapshot.Route) bool {
	return route.SolverLabel && route.ChallengeOwner && route.ChallengePaths
}
