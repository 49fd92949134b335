package hosts

import (
	"fmt"
	"iter"
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// gatewayClaims adds the claims of the objects of the Gateway API. They follow from
// the spec of the objects. The status plays no part: it lags, and a route that was
// rejected because its host is taken is exactly the conflict to report.
//
// Gateways claim nothing. Owners share them, and their listeners say which hosts
// can be claimed there. One that is being deleted is served until it is gone.
func gatewayClaims(c *claims, in rules.Input) {
	p := newParents(in.View)
	listenerSetClaims(c, in, p)
	for route := range in.View.Routes() {
		c.safely(&route.Meta, func() { routeClaims(c, in, p, route) })
	}
}

// listenerSetClaims adds the hostnames of the listeners that ListenerSets add to a
// Gateway. The owner of the set owns those claims.
func listenerSetClaims(c *claims, in rules.Input, p *parents) {
	for set := range in.View.ListenerSets() {
		parent := p.byRef[set.Ref()]
		if parent == nil {
			continue
		}
		c.safely(&set.Meta, func() {
			owner := in.Owner(&set.Meta)
			for i := range parent.listeners {
				if l := &parent.listeners[i]; l.host != "" {
					to := c.addThrough(l.name, l.host, &set.Meta, owner, snapshot.FromListener, c.leavingOf(&set.Meta, l.gateway))
					to.attach(l, true)
				}
			}
		})
	}
}

// routeClaims adds the claims of one route: the intersection of its hostnames with
// each listener that it may attach to.
func routeClaims(c *claims, in rules.Input, p *parents, route *snapshot.Route) {
	hosts := make([]string, len(route.Hostnames), len(route.Hostnames)+1)
	for i, h := range route.Hostnames {
		hosts[i] = Normalize(h)
	}
	if len(hosts) == 0 {
		hosts = append(hosts, "") // those of the listener
	}
	owner := in.Owner(&route.Meta)
	solver := isSolverRoute(route)
	for l, named := range p.attached(route) {
		goes := c.leavingOf(&route.Meta, l.set, l.gateway)
		for _, asked := range hosts {
			host, ok := intersectHosts(asked, l.host)
			if !ok {
				continue
			}
			how := routeSource(asked, host)
			if host == "" {
				// A request that arrives at one port is not matched against the routes of
				// another.
				all := c.addThrough(l.name, fmt.Sprintf("* (gateway %s/%s)", l.gateway.Namespace, l.gateway.Name), &route.Meta, owner, how, goes)
				all.take(snapshot.Lane{Port: l.Port})
				all.solver = solver
				all.attach(l, named)
				continue
			}
			to := c.addThrough(l.name, host, &route.Meta, owner, how, goes)
			to.solver = solver
			to.attach(l, named)
		}
	}
	if route.Published == nil {
		return
	}
	for _, h := range route.Published.Hosts {
		if host := Normalize(h.Host); host != "" {
			c.addFrom(host, &route.Meta, owner, snapshot.FromExternalDNS, h.Deep)
		}
	}
}

// attach notes the Gateway that a claimant names as its parent. A default Gateway says
// itself that it takes the routes that ask for one.
func (c *claim) attach(l *listener, named bool) {
	if named {
		c.addGateway(l.gateway.Namespace)
	}
}

// routeSource returns how a route claims a host, given the hostname it asked for.
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

// parents are the objects that routes can attach to: Gateways, and the
// ListenerSets that their Gateway admits. They are looked up by reference, so that
// routes are never compared with listeners that they do not ask for.
type parents struct {
	view     *snapshot.View
	byRef    map[snapshot.Ref]*parent
	defaults []*parent // the Gateways for routes that ask for a default
	open     map[visitor][]*listener
}

// parent is a Gateway or a ListenerSet with its own listeners. According to
// GEP-1713 a route attaches only to the listeners of the object that it names: one
// that names a Gateway does not attach to those of its ListenerSets.
type parent struct {
	namespace string
	listeners []listener
}

// listener is a listener with its name in messages.
type listener struct {
	*snapshot.Listener
	host    string         // normalized; empty for every host and if the protocol has no hosts
	gateway *snapshot.Meta // the Gateway that serves it
	set     *snapshot.Meta // the ListenerSet that it is of, or nil
	name    string         // for people
}

func newParents(v *snapshot.View) *parents {
	p := &parents{view: v, byRef: map[snapshot.Ref]*parent{}, open: map[visitor][]*listener{}}
	gateways := map[snapshot.Ref]*snapshot.Gateway{}
	for g := range v.Gateways() {
		made := &parent{namespace: g.Namespace, listeners: newListeners(g, nil, g.Listeners)}
		gateways[g.Ref()], p.byRef[g.Ref()] = g, made
		if g.Default {
			p.defaults = append(p.defaults, made)
		}
	}
	for s := range v.ListenerSets() {
		g := gateways[s.Parent]
		if g == nil || !admits(v, &g.AllowedListeners, g.Namespace, s.Namespace) {
			continue
		}
		p.byRef[s.Ref()] = &parent{namespace: s.Namespace, listeners: newListeners(g, &s.Meta, s.Listeners)}
	}
	return p
}

func newListeners(g *snapshot.Gateway, set *snapshot.Meta, list []snapshot.Listener) []listener {
	gateway, of := g.Namespace+"/"+g.Name, ""
	if set != nil {
		of = " of " + set.Ref().String()
	}
	out := make([]listener, len(list))
	for i := range list {
		l := &list[i]
		out[i] = listener{Listener: l, gateway: &g.Meta, set: set, name: fmt.Sprintf("gateway %s (listener %s%s)", gateway, l.Name, of)}
		if hasHosts(l.Protocol) {
			out[i].host = Normalize(l.Hostname)
		}
	}
	return out
}

// attached yields the listeners that a route may attach to, and whether it names their
// parent: for each of its parents in order, then for the default Gateways if it asks for
// them. It follows the
// conditions of ParentReference and AllowedRoutes, and GEP-3793 for the defaults.
// Other kinds of parents have no listeners: a route on a Service routes traffic
// inside the cluster and claims no host.
func (p *parents) attached(route *snapshot.Route) iter.Seq2[*listener, bool] {
	return func(yield func(*listener, bool) bool) {
		for i := range route.Parents {
			asked := &route.Parents[i]
			for _, l := range p.openTo(p.byRef[asked.Ref], route) {
				named := asked.Section == "" || asked.Section == l.Name
				if named && (asked.Port == 0 || asked.Port == l.Port) && !yield(l, true) {
					return
				}
			}
		}
		if !route.Default {
			return
		}
		for _, d := range p.defaults {
			for _, l := range p.openTo(d, route) {
				if !yield(l, false) {
					return
				}
			}
		}
	}
}

// visitor is what decides whether a parent admits a route. Many routes share it.
type visitor struct {
	parent          *parent
	kind, namespace string
}

// openTo returns the listeners of a parent that admit routes of the kind and the
// namespace of this one. A nil parent has none.
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

// The protocols of a listener that the Gateway API defines. Any other protocol
// belongs to an implementation.
const (
	protocolHTTP  = "HTTP"
	protocolHTTPS = "HTTPS"
	protocolTLS   = "TLS"
	protocolTCP   = "TCP"
	protocolUDP   = "UDP"
)

// hasHosts reports whether a listener of the protocol distinguishes hosts. The
// hostname of any other listener is ignored.
func hasHosts(protocol string) bool { return protocol != protocolTCP && protocol != protocolUDP }

// routeKinds returns the kinds of routes that fit a protocol, and whether the
// Gateway API defines the protocol. According to GEP-2907 a TLSRoute needs TLS that
// is not known to carry HTTP, and the other two kinds need HTTP.
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

// takesKind reports whether a listener accepts routes of a kind of the Gateway API.
// Kinds that it lists count only if they fit its protocol. What fits a protocol of
// an implementation is unknown, so there the list alone decides.
func takesKind(l *snapshot.Listener, kind string) bool {
	fitting, known := routeKinds(l.Protocol)
	if len(l.Kinds) == 0 {
		return slices.Contains(fitting, kind)
	}
	return slices.Contains(l.Kinds, snapshot.GroupKind{Group: snapshot.GatewayGroup, Kind: kind}) &&
		(!known || slices.Contains(fitting, kind))
}

// admits reports whether an object in one namespace allows objects in another
// namespace to attach to it.
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
		// An API server labels each Namespace with its name; manifests may lack the label.
		return a.Selector.Matches(labels.With(snapshot.NamespaceNameLabel, other))
	}
	return false
}
