package hosts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// istioGateways are the Gateways of Istio by namespace/name. It is nil if they are
// unknown.
type istioGateways map[string]*snapshot.IstioGateway

func newIstioGateways(v *snapshot.View) istioGateways {
	if !v.Known(snapshot.IstioGateways) {
		return nil
	}
	g := istioGateways{}
	for o := range v.IstioGateways() {
		g[o.Namespace+"/"+o.Name] = o
	}
	return g
}

// admit reports whether an object may claim a normalized host: at some gateway that it
// is bound to, or because it is not bound to any.
func (g istioGateways) admit(o *snapshot.HostObject, host string) bool {
	return len(o.Bindings) == 0 || slices.ContainsFunc(o.Bindings, func(b snapshot.Binding) bool {
		return g.admitAt(&b, o.Namespace, host)
	})
}

// admitAt reports whether a server of a gateway takes VirtualServices with the host
// from a namespace. It follows pickMatchingGatewayHosts and sanitizeServerHostNamespace
// of Istio. A gateway that does not exist, or is unknown, may admit everything: it may
// be in manifests that are not here.
func (g istioGateways) admitAt(b *snapshot.Binding, namespace, host string) bool {
	o := g[b.Gateway]
	if o == nil {
		return true
	}
	return slices.ContainsFunc(o.Hosts, func(served string) bool {
		in, pattern, ok := strings.Cut(served, "/")
		switch {
		case !ok:
			pattern = served
		case in == ".":
			if namespace != o.Namespace {
				return false
			}
		case in != "*" && in != namespace:
			return false
		}
		return overlapAtIstio(Normalize(pattern), host)
	})
}

// attach notes the namespaces of the Gateways that take the host of a claim from its
// object.
func (g istioGateways) attach(c *claim, o *snapshot.HostObject) {
	for i := range o.Bindings {
		b := &o.Bindings[i]
		if namespace, _, ok := strings.Cut(b.Gateway, "/"); ok && g.admitAt(b, o.Namespace, c.host) {
			c.addGateway(namespace)
		}
	}
}

// overlapAtIstio reports whether two normalized hosts have a name in common. A wildcard
// of Istio covers whatever ends like it.
func overlapAtIstio(a, b string) bool {
	a, wildA := strings.CutPrefix(cmp.Or(a, "*"), "*")
	b, wildB := strings.CutPrefix(cmp.Or(b, "*"), "*")
	switch {
	case wildA && wildB:
		return strings.HasSuffix(a, b) || strings.HasSuffix(b, a)
	case wildA:
		return strings.HasSuffix(b, a)
	case wildB:
		return strings.HasSuffix(a, b)
	}
	return a == b
}
