package hosts

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
