package hosts

import (
	"fmt"
	"iter"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
