package ingest

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
