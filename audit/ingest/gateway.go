package ingest

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	// By default a Gateway allows no ListenerSets.
	if a := o.Spec.AllowedListeners; a != nil && a.Namespaces != nil {
		f.AllowedListeners = in.allowedNamespaces(a.Namespaces.From, a.Namespaces.Selector, gatewayv1.NamespacesFromNone)
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

// listener returns the fact of a listener of a Gateway or a ListenerSet.
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
		f.AllowedRoutes = in.allowedNamespaces(n.From, n.Selector, gatewayv1.NamespacesFromSame)
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

// allowedNamespaces returns the namespaces that may attach; unset applies where the object
// does not say. An unknown word allows none, and so does a selector that is missing or
// invalid.
func (in *Ingester) allowedNamespaces(from *gatewayv1.FromNamespaces, s *metav1.LabelSelector, unset gatewayv1.FromNamespaces) snapshot.AllowedNamespaces {
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

// parent returns the reference of an object to its parent. A missing group is that of the
// Gateway API; the core group is written as "".
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

func (in *Ingester) httpRoute(o *gatewayv1.HTTPRoute) snapshot.Route {
	f := in.route("HTTPRoute", &o.ObjectMeta, &o.Spec.CommonRouteSpec, o.Spec.Hostnames)
	f.ChallengePaths = onlyChallengeMatches(o.Spec.Rules)
	return f
}

func (in *Ingester) grpcRoute(o *gatewayv1.GRPCRoute) snapshot.Route {
	return in.route("GRPCRoute", &o.ObjectMeta, &o.Spec.CommonRouteSpec, o.Spec.Hostnames)
}

func (in *Ingester) tlsRoute(o *gatewayv1.TLSRoute) snapshot.Route {
	return in.route("TLSRoute", &o.ObjectMeta, &o.Spec.CommonRouteSpec, o.Spec.Hostnames)
}

func (in *Ingester) route(kind string, o *metav1.ObjectMeta, spec *gatewayv1.CommonRouteSpec, hostnames []gatewayv1.Hostname) snapshot.Route {
	// Without hostnames a route claims those of its parents, by referring to them.
	claims := "hostnames"
	if len(hostnames) == 0 {
		claims = "parentRefs"
	}
	f := snapshot.Route{
		Meta:           in.hostsMeta(gatewayv1.GroupName, kind, o, claims),
		Default:        spec.UseDefaultGateways == gatewayv1.GatewayDefaultScopeAll,
		SolverLabel:    o.Labels[labelSolver] == "true",
		ChallengeOwner: ownedByChallenge(o.OwnerReferences),
	}
	for i := range spec.ParentRefs {
		p := &spec.ParentRefs[i]
		ref := snapshot.ParentRef{Ref: in.parent(f.Namespace, p.Group, p.Kind, p.Namespace, p.Name)}
		if p.SectionName != nil {
			ref.Section = in.intern(string(*p.SectionName))
		}
		if p.Port != nil {
			ref.Port = *p.Port
		}
		f.Parents = append(f.Parents, ref)
	}
	for _, h := range hostnames {
		f.Hostnames = append(f.Hostnames, string(h))
	}
	return f
}

// onlyChallengeMatches reports whether an HTTPRoute routes nothing but the answers to
// ACME challenges: each match is for exactly one token below the well-known path. No
// rule, no match and no path each mean every path.
func onlyChallengeMatches(rules []gatewayv1.HTTPRouteRule) bool {
	for i := range rules {
		for _, m := range rules[i].Matches {
			if m.Path == nil || m.Path.Type == nil || *m.Path.Type != gatewayv1.PathMatchExact || m.Path.Value == nil {
				return false
			}
			token, ok := strings.CutPrefix(*m.Path.Value, challengePath)
			if !ok || token == "" || strings.ContainsFunc(token, notBase64URL) {
				return false
			}
		}
		if len(rules[i].Matches) == 0 {
			return false
		}
	}
	return len(rules) > 0
}
