package ingest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// listener returns the fact of a listener, be it of a Gateway or of a
// ListenerSet.
func (in *Ingester) listener(o *gatewayv1.ListenerEntry) snapshot.Listener {
	f := snapshot.Listener{
		Name:          in.intern(string(o.Name)),
		Port:          o.Port,
		Protocol:      in.intern(string(o.Protocol)),
		AllowedRoutes: snapshot.AllowedNamespaces{From: snapshot.NamespacesSame},
	}
	if o.Hostname != nil {
		f.Hostname = string(*o.Hostname)
	}
	if o.AllowedRoutes == nil {
		return f
	}
	if n := o.AllowedRoutes.Namespaces; n != nil {
		f.AllowedRoutes = in.admission(n.From, n.Selector, gatewayv1.NamespacesFromSame)
	}
	for _, k := range o.AllowedRoutes.Kinds {
		kind := snapshot.GroupKind{Group: gatewayv1.GroupName, Kind: in.intern(string(k.Kind))}
		if k.Group != nil {
			kind.Group = in.intern(string(*k.Group))
		}
		f.Kinds = append(f.Kinds, kind)
	}
	return f
}

// admission returns who may attach, where unset is what counts if the object does
// not say. A word that the API does not know admits
// nobody, and neither does a selector that is left out or makes no sense.
func (in *Ingester) admission(from *gatewayv1.FromNamespaces, s *metav1.LabelSelector, unset gatewayv1.FromNamespaces) snapshot.AllowedNamespaces {
	word := unset
	if from != nil && *from != "" {
		word = *from
	}
	switch word {
	case gatewayv1.NamespacesFromAll:
		return snapshot.AllowedNamespaces{From: snapshot.NamespacesAll}
	case gatewayv1.NamespacesFromSame:
		return snapshot.AllowedNamespaces{From: snapshot.NamespacesSame}
	case gatewayv1.NamespacesFromSelector:
		if selector, err := in.selector(s); s != nil && err == nil {
			return snapshot.AllowedNamespaces{From: snapshot.NamespacesSelector, Selector: selector}
		}
	}
	return snapshot.AllowedNamespaces{From: snapshot.NamespacesNone}
}

// parent returns what an object refers to as its parent. A group that is left
// out is that of the Gateway API; the core group is written as "".
func (in *Ingester) parent(own string, group *gatewayv1.Group, kind *gatewayv1.Kind, namespace *gatewayv1.Namespace,
	name gatewayv1.ObjectName,
) snapshot.Ref {
	ref := snapshot.Ref{Group: gatewayv1.GroupName, Kind: "Gateway", Namespace: own, Name: in.intern(string(name))}
	if group != nil {
		ref.Group = in.intern(string(*group))
	}
	if kind != nil && *kind != "" {
		ref.Kind = in.intern(string(*kind))
	}
	if namespace != nil && *namespace != "" {
		ref.Namespace = in.intern(string(*namespace))
	}
	return ref
}
