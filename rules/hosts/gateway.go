package hosts

import (
	"fmt"
	"iter"
	"slices"

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

// parents are the objects that routes can attach to: Gateways, and the
// ListenerSets that their Gateway admits. They are found by reference, so that
// routes are never held against listeners that they do not ask for.
type parents struct {
	view     *snapshot.View
	byRef    map[snapshot.Ref]*parent
	defaults []*parent // the Gateways for routes that ask for a default
	open     map[visitor][]*listener
}

// parent is a Gateway or a ListenerSet with its own listeners. By GEP-1713 a
// route attaches to those of the very object that it names: one that names a
// Gateway has no part in those of its ListenerSets.
type parent struct {
	namespace string
	listeners []listener
}

// listener is a listener and how it is spoken of.
type listener struct {
	*snapshot.Listener
	host    string // normal; empty for every host, also where hosts mean nothing
	gateway string // the Gateway that has it in the end
	name    string // for people
}

func newParents(v *snapshot.View) *parents {
	p := &parents{view: v, byRef: map[snapshot.Ref]*parent{}, open: map[visitor][]*listener{}}
	gateways := map[snapshot.Ref]*snapshot.Gateway{}
	for g := range v.Gateways() {
		if leaving(v, &g.Meta) {
			continue
		}
		made := &parent{namespace: g.Namespace, listeners: newListeners(g, "", g.Listeners)}
		gateways[g.Ref()], p.byRef[g.Ref()] = g, made
		if g.Default {
			p.defaults = append(p.defaults, made)
		}
	}
	for s := range v.ListenerSets() {
		g := gateways[s.Parent]
		if g == nil || leaving(v, &s.Meta) || !admits(v, &g.AllowedListeners, g.Namespace, s.Namespace) {
			continue
		}
		p.byRef[s.Ref()] = &parent{namespace: s.Namespace, listeners: newListeners(g, " of "+s.Ref().String(), s.Listeners)}
	}
	return p
}

func newListeners(g *snapshot.Gateway, of string, list []snapshot.Listener) []listener {
	gateway := g.Namespace + "/" + g.Name
	out := make([]listener, len(list))
	for i := range list {
		l := &list[i]
		out[i] = listener{Listener: l, gateway: gateway, name: fmt.Sprintf("gateway %s (listener %s%s)", gateway, l.Name, of)}
		if hasHosts(l.Protocol) {
			out[i].host = Normalize(l.Hostname)
		}
	}
	return out
}

// attached yields the listeners that a route may attach to, for each of its
// parents in its order and for the default Gateways if it asks for them: the
// conditions of ParentReference and AllowedRoutes, and of GEP-3793 for the
// defaults. What is no Gateway and no ListenerSet has no listeners: a route on a
// Service routes traffic inside the cluster and claims no host.
func (p *parents) attached(route *snapshot.Route) iter.Seq[*listener] {
	return func(yield func(*listener) bool) {
		for i := range route.Parents {
			asked := &route.Parents[i]
			for _, l := range p.openTo(p.byRef[asked.Ref], route) {
				named := asked.Section == "" || asked.Section == l.Name
				if named && (asked.Port == 0 || asked.Port == l.Port) && !yield(l) {
					return
				}
			}
		}
		if !route.Default {
			return
		}
		for _, d := range p.defaults {
			for _, l := range p.openTo(d, route) {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// visitor is all that a parent looks at in a route. Many routes share it.
type visitor struct {
	parent          *parent
	kind, namespace string
}

// openTo returns the listeners of a parent that admit routes of the kind and the
// namespace of this one. A parent that is nil has none.
func (p *parents) openTo(to *parent, route *snapshot.Route) []*listener {
	if to == nil {
		return nil
	}
	key := visitor{to, route.Kind, route.Namespace}
	open, ok := p.open[key]
	if !ok {
		for i := range to.listeners {
			l := &to.listeners[i]
			if takesKind(l.Listener, route.Kind) && admits(p.view, &l.AllowedRoutes, to.namespace, route.Namespace) {
				open = append(open, l)
			}
		}
		p.open[key] = open
	}
	return open
}

// The protocols of a listener that the Gateway API knows. Any other one is an
// implementation's own.
const (
	protocolHTTP  = "HTTP"
	protocolHTTPS = "HTTPS"
	protocolTLS   = "TLS"
	protocolTCP   = "TCP"
	protocolUDP   = "UDP"
)

// hasHosts reports whether a listener of the protocol tells hosts apart. The
// hostname of any other one is ignored.
func hasHosts(protocol string) bool { return protocol != protocolTCP && protocol != protocolUDP }

// routeKinds returns the kinds of routes that fit a protocol: by the Gateway API
// (GEP-2907) a TLSRoute needs TLS that is not known to carry HTTP, and the other
// two need HTTP. It reports whether the protocol is one that the Gateway API
// knows.
func routeKinds(protocol string) (kinds []string, known bool) {
	switch protocol {
	case protocolHTTP, protocolHTTPS:
		return []string{"HTTPRoute", "GRPCRoute"}, true
	case protocolTLS:
		return []string{"TLSRoute"}, true
	case protocolTCP, protocolUDP:
		return nil, true
	}
	return nil, false
}

// takesKind reports whether a listener takes routes of a kind of the Gateway
// API. Kinds that it lists count only as far as they fit its protocol; what fits
// the protocol of an implementation only that one knows, so there the list is
// believed.
func takesKind(l *snapshot.Listener, kind string) bool {
	fitting, known := routeKinds(l.Protocol)
	if len(l.Kinds) == 0 {
		return slices.Contains(fitting, kind)
	}
	return slices.Contains(l.Kinds, snapshot.GroupKind{Group: snapshot.GatewayGroup, Kind: kind}) &&
		(!known || slices.Contains(fitting, kind))
}

// admits reports whether an object in one namespace lets objects of another
// attach to it.
func admits(v *snapshot.View, a *snapshot.AllowedNamespaces, own, other string) bool {
	switch a.From {
	case snapshot.NamespacesAll:
		return true
	case snapshot.NamespacesSame:
		return own == other
	case snapshot.NamespacesSelector:
		var labels snapshot.Labels
		if ns := v.Namespace(other); ns != nil {
			labels = ns.Labels
		}
		// An API server labels each Namespace with its name; manifests may not.
		return a.Selector.Matches(labels.With(snapshot.NamespaceNameLabel, other))
	}
	return false
}
