package ingest

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
	// Without hostnames a route claims those of its parents by asking for them.
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

// onlyChallengeMatches reports whether an HTTPRoute routes nothing but the
// answers to ACME challenges: each match is on exactly one token below the
// well-known folder. No rule, no match and no path each stand for every path.
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
