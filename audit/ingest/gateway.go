package ingest

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	kjson "sigs.k8s.io/json"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// gatewayKinds are the kinds of the Gateway API. What matters here of their
// older versions is spelled as in v1, and so is the XListenerSet.
//
// ReferenceGrants are none of them: who may attach to a Gateway across
// namespaces is said by the Gateway itself, and what a grant allows (backends,
// certificates) claims no host.
func gatewayKinds() []Custom {
	gateways := func(f *snapshot.Facts) *[]snapshot.Gateway { return &f.Gateways }
	sets := func(f *snapshot.Facts) *[]snapshot.ListenerSet { return &f.ListenerSets }
	routes := func(f *snapshot.Facts) *[]snapshot.Route { return &f.Routes }
	return []Custom{
		gatewayKind(snapshot.Gateways, "Gateway", (*Ingester).gateway, gateways, "v1", "v1beta1", "v1alpha2"),
		gatewayKind(snapshot.ListenerSets, "ListenerSet", (*Ingester).listenerSet, sets, "v1"),
		gatewayKind(snapshot.XListenerSets, "XListenerSet", (*Ingester).xListenerSet, sets, "v1alpha1"),
		gatewayKind(snapshot.HTTPRoutes, "HTTPRoute", (*Ingester).httpRoute, routes, "v1", "v1beta1", "v1alpha2"),
		gatewayKind(snapshot.GRPCRoutes, "GRPCRoute", (*Ingester).grpcRoute, routes, "v1", "v1alpha2"),
		gatewayKind(snapshot.TLSRoutes, "TLSRoute", (*Ingester).tlsRoute, routes, "v1", "v1alpha3", "v1alpha2"),
	}
}

func gatewayKind[T, F any](kind snapshot.Kind, object string, fact func(*Ingester, *T) F,
	list func(*snapshot.Facts) *[]F, versions ...string,
) Custom {
	return Custom{
		Kind: kind, Object: object, Versions: versions, Namespaced: true,
		take: func(in *Ingester, data []byte, f *snapshot.Facts) error {
			o := new(T)
			if err := kjson.UnmarshalCaseSensitivePreserveInts(data, o); err != nil {
				return err
			}
			facts := list(f)
			*facts = append(*facts, fact(in, o))
			return nil
		},
	}
}

func (in *Ingester) gateway(o *gatewayv1.Gateway) snapshot.Gateway {
	f := snapshot.Gateway{
		Meta:    in.meta(gatewayv1.GroupName, "Gateway", &o.ObjectMeta),
		Class:   in.intern(string(o.Spec.GatewayClassName)),
		Default: o.Spec.DefaultScope == gatewayv1.GatewayDefaultScopeAll,
	}
	for i := range o.Spec.Listeners {
		f.Listeners = append(f.Listeners, in.listener((*gatewayv1.ListenerEntry)(&o.Spec.Listeners[i])))
	}
	// A Gateway admits no ListenerSets until it says so.
	if a := o.Spec.AllowedListeners; a != nil && a.Namespaces != nil {
		f.AllowedListeners = in.admission(a.Namespaces.From, a.Namespaces.Selector, gatewayv1.NamespacesFromNone)
	}
	return f
}

func (in *Ingester) listenerSet(o *gatewayv1.ListenerSet) snapshot.ListenerSet {
	return in.listeners(in.hostsMeta(gatewayv1.GroupName, "ListenerSet", &o.ObjectMeta, "listeners"), &o.Spec)
}

func (in *Ingester) xListenerSet(o *gatewayv1.ListenerSet) snapshot.ListenerSet {
	return in.listeners(in.hostsMeta(snapshot.XListenerSets.Group(), "XListenerSet", &o.ObjectMeta, "listeners"), &o.Spec)
}

func (in *Ingester) listeners(m snapshot.Meta, spec *gatewayv1.ListenerSetSpec) snapshot.ListenerSet {
	p := &spec.ParentRef
	f := snapshot.ListenerSet{Meta: m, Parent: in.parent(m.Namespace, p.Group, p.Kind, p.Namespace, p.Name)}
	for i := range spec.Listeners {
		f.Listeners = append(f.Listeners, in.listener(&spec.Listeners[i]))
	}
	return f
}
