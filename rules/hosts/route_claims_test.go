package hosts

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestRouteHostnames(t *testing.T) {
	checkEdges(t, []edgeCase{
		{"as it is", func(*edge) {}, []string{shopClaims, setClaims}},
		{
			"a route without hostnames claims that of its listener",
			func(e *edge) { e.route.Hostnames, e.gateway.Listeners[0].Hostname = nil, "Pay.example.com" },
			[]string{"HTTPRoute team-a/shop: pay.example.com (parent-hostname)", setClaims},
		},
		{
			"neither has one: every host of the Gateway",
			func(e *edge) { e.route.Hostnames = nil },
			[]string{"HTTPRoute team-a/shop: * (gateway platform/edge) (no-hostname)", setClaims},
		},
		{
			"a wildcard is narrowed by the listener",
			func(e *edge) {
				e.route.Hostnames, e.gateway.Listeners[0].Hostname = []string{"*.example.com"}, "pay.example.com"
			},
			[]string{"HTTPRoute team-a/shop: pay.example.com (narrowed-hostname)", setClaims},
		},
		{
			"hostnames that the listener does not have are ignored",
			func(e *edge) {
				e.route.Hostnames = []string{"shop.example.com", "shop.example.org", "example.com"}
				e.gateway.Listeners[0].Hostname = "*.example.com"
			},
			[]string{shopClaims, setClaims},
		},
		{
			"one host by several hostnames and listeners is one claim",
			func(e *edge) {
				e.gateway.Listeners[0].Hostname = "shop.example.com"
				e.gateway.Listeners[1].Protocol = "HTTPS"
				e.route.Hostnames = []string{"*.example.com", "SHOP.example.com.", "shop.example.com"}
			},
			[]string{
				"HTTPRoute team-a/shop: *.example.com (hostname)",
				"HTTPRoute team-a/shop: shop.example.com (narrowed-hostname, hostname)", setClaims,
			},
		},
	})
}

func TestRouteParents(t *testing.T) {
	checkEdges(t, []edgeCase{
		{"no parent, no claim", func(e *edge) { e.route.Parents = nil }, []string{setClaims}},
		{
			"a Service is no Gateway",
			func(e *edge) {
				e.route.Parents[0].Ref = snapshot.Ref{Kind: "Service", Namespace: "platform", Name: "edge"}
			},
			[]string{setClaims},
		},
		{
			"a Gateway of another group is another kind",
			func(e *edge) { e.route.Parents[0].Group = "networking.istio.io" },
			[]string{setClaims},
		},
		{
			"a Gateway of another namespace is another one",
			func(e *edge) { e.route.Parents[0].Namespace = "team-a" },
			[]string{setClaims},
		},
		{"a Gateway that is gone", func(e *edge) { e.facts.Gateways = nil }, []string{}},
		{"a Gateway being deleted", func(e *edge) { e.gateway.Deleting = true }, []string{}},
		{"a Gateway in a terminating namespace", func(e *edge) { e.facts.Namespaces[0].Terminating = true }, []string{}},
		{"a route being deleted", func(e *edge) { e.route.Deleting = true }, []string{setClaims}},
		{"a terminating namespace of route and set", func(e *edge) { e.facts.Namespaces[1].Terminating = true }, []string{}},
		{
			"several parents claim together",
			func(e *edge) {
				e.route.Hostnames = []string{"*.example.com"}
				e.route.Parents = append(e.route.Parents, snapshot.ParentRef{Ref: gatewayRef("ListenerSet", "team-a", "own")})
			},
			[]string{
				"HTTPRoute team-a/shop: *.example.com (hostname)",
				"HTTPRoute team-a/shop: own.example.com (narrowed-hostname)", setClaims,
			},
		},
		{
			"a default Gateway takes the routes that ask for one",
			func(e *edge) { e.gateway.Default, e.route.Default, e.route.Parents = true, true, nil },
			[]string{shopClaims, setClaims},
		},
		{"a default Gateway leaves other routes alone", func(e *edge) { e.gateway.Default, e.route.Parents = true, nil }, []string{setClaims}},
		{"a Gateway that is no default is not asked", func(e *edge) { e.route.Default, e.route.Parents = true, nil }, []string{setClaims}},
	})
}

func TestRouteListeners(t *testing.T) {
	checkEdges(t, []edgeCase{
		{"the section names the listener", func(e *edge) { e.route.Parents[0].Section = "http" }, []string{shopClaims, setClaims}},
		{"the section names another listener", func(e *edge) { e.route.Parents[0].Section = "tls" }, []string{setClaims}},
		{"the section names no listener", func(e *edge) { e.route.Parents[0].Section = "none" }, []string{setClaims}},
		{"the port is the listener's", func(e *edge) { e.route.Parents[0].Port = 80 }, []string{shopClaims, setClaims}},
		{"the port is another's", func(e *edge) { e.route.Parents[0].Port = 443 }, []string{setClaims}},
		{
			"section and port name two listeners, so none",
			func(e *edge) { e.route.Parents[0].Section, e.route.Parents[0].Port = "http", 443 },
			[]string{setClaims},
		},
		{
			"listeners take their own namespace only",
			func(e *edge) { e.gateway.Listeners[0].AllowedRoutes.From = snapshot.NamespacesSame },
			[]string{setClaims},
		},
		{
			"a TLSRoute attaches to the listener for TLS",
			func(e *edge) { e.route.Kind = "TLSRoute" },
			[]string{setClaims, "TLSRoute team-a/shop: shop.example.com (hostname)"},
		},
		{
			"a listener lists other kinds",
			func(e *edge) {
				e.gateway.Listeners[0].Kinds = []snapshot.GroupKind{{Group: snapshot.GatewayGroup, Kind: "GRPCRoute"}}
			},
			[]string{setClaims},
		},
	})
}
