package hosts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// edge is a small cluster to change: platform's Gateway with an HTTP listener for
// every host and a TLS one for some, team-a's ListenerSet on it, and team-a's
// route on both.
type edge struct {
	facts   snapshot.Facts
	gateway *snapshot.Gateway
	set     *snapshot.ListenerSet
	route   *snapshot.Route
}

func gatewayRef(kind, namespace, name string) snapshot.Ref {
	return snapshot.Ref{Group: snapshot.GatewayGroup, Kind: kind, Namespace: namespace, Name: name}
}

func gatewayMeta(kind, namespace, name string) snapshot.Meta {
	return snapshot.Meta{Group: snapshot.GatewayGroup, Kind: kind, Namespace: namespace, Name: name}
}

func newEdge() *edge {
	all := snapshot.AllowedNamespaces{From: snapshot.NamespacesAll}
	e := &edge{facts: snapshot.Facts{
		Namespaces: []snapshot.Namespace{
			{Meta: snapshot.Meta{Kind: "Namespace", Name: "platform"}},
			{Meta: snapshot.Meta{Kind: "Namespace", Name: "team-a"}},
		},
		Gateways: []snapshot.Gateway{{
			Meta: gatewayMeta("Gateway", "platform", "edge"), AllowedListeners: all,
			Listeners: []snapshot.Listener{
				{Name: "http", Port: 80, Protocol: "HTTP", AllowedRoutes: all},
				{Name: "tls", Port: 443, Protocol: "TLS", Hostname: "*.example.com", AllowedRoutes: all},
			},
		}},
		ListenerSets: []snapshot.ListenerSet{{
			Meta: gatewayMeta("ListenerSet", "team-a", "own"), Parent: gatewayRef("Gateway", "platform", "edge"),
			Listeners: []snapshot.Listener{
				{Name: "http", Port: 80, Protocol: "HTTP", Hostname: "own.example.com", AllowedRoutes: snapshot.AllowedNamespaces{From: snapshot.NamespacesSame}},
			},
		}},
		Routes: []snapshot.Route{{
			Meta:      gatewayMeta("HTTPRoute", "team-a", "shop"),
			Parents:   []snapshot.ParentRef{{Ref: gatewayRef("Gateway", "platform", "edge")}},
			Hostnames: []string{"shop.example.com"},
		}},
	}}
	e.gateway, e.set, e.route = &e.facts.Gateways[0], &e.facts.ListenerSets[0], &e.facts.Routes[0]
	return e
}

func (e *edge) claims() *claims {
	var b snapshot.Builder
	b.Add(e.facts)
	view := b.Freeze().View(Rule().Needs...)
	c := &claims{view: view, byHost: map[string][]*claim{}}
	gatewayClaims(c, rules.Input{
		View:  view,
		Owner: func(m *snapshot.Meta) rules.Owner { return rules.Owner{Name: m.Namespace} },
	})
	return c
}

// claimed returns a line for each claim: the claimant, the host and the source.
func (e *edge) claimed() []string {
	lines := []string{}
	for host, list := range e.claims().byHost {
		for _, c := range list {
			how := make([]string, len(c.how))
			for i, h := range c.how {
				how[i] = string(h)
			}
			lines = append(lines, fmt.Sprintf("%s: %s (%s)", c.object.Ref(), host, strings.Join(how, ", ")))
		}
	}
	slices.Sort(lines)
	return lines
}

// The claims of an unchanged edge.
const (
	setClaims  = "ListenerSet team-a/own: own.example.com (listener)"
	shopClaims = "HTTPRoute team-a/shop: shop.example.com (hostname)"
)

// edgeCase is a change to the edge and all claims after it.
type edgeCase struct {
	name   string
	change func(*edge)
	want   []string
}

func checkEdges(t *testing.T, cases []edgeCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			e := newEdge()
			c.change(e)
			if diff := cmp.Diff(c.want, e.claimed()); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
		})
	}
}

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
			"a Service is not a Gateway",
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
		{"a Gateway being deleted", func(e *edge) { e.gateway.Deletion = &snapshot.Deletion{} }, []string{shopClaims, setClaims}},
		{
			"a Gateway in a terminating namespace",
			func(e *edge) { e.facts.Namespaces[0].Deletion = &snapshot.Deletion{} },
			[]string{shopClaims, setClaims},
		},
		{"a route being deleted", func(e *edge) { e.route.Deletion = &snapshot.Deletion{} }, []string{shopClaims, setClaims}},
		{
			"a terminating namespace of route and set",
			func(e *edge) { e.facts.Namespaces[1].Deletion = &snapshot.Deletion{} },
			[]string{shopClaims, setClaims},
		},
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
		{"a Gateway that is not a default is ignored", func(e *edge) { e.route.Default, e.route.Parents = true, nil }, []string{setClaims}},
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

func TestListenerSetClaims(t *testing.T) {
	onSet := func(e *edge) {
		e.route.Parents[0].Ref, e.route.Hostnames = e.set.Ref(), nil
	}
	const routeClaims = "HTTPRoute team-a/shop: own.example.com (parent-hostname)"
	cases := []edgeCase{
		{"a route on a ListenerSet", func(*edge) {}, []string{routeClaims, setClaims}},
		{
			"an XListenerSet of the older group",
			func(e *edge) {
				e.set.Group, e.set.Kind = "gateway.networking.x-k8s.io", "XListenerSet"
				e.route.Parents[0].Ref = e.set.Ref()
			},
			[]string{routeClaims, "XListenerSet team-a/own: own.example.com (listener)"},
		},
		{
			"the route names the other kind of set",
			func(e *edge) { e.set.Group, e.set.Kind = "gateway.networking.x-k8s.io", "XListenerSet" },
			[]string{"XListenerSet team-a/own: own.example.com (listener)"},
		},
		{
			"a set that the Gateway does not admit counts for nothing",
			func(e *edge) { e.gateway.AllowedListeners = snapshot.AllowedNamespaces{} },
			[]string{},
		},
		{
			"a Gateway admits sets of its own namespace",
			func(e *edge) { e.gateway.AllowedListeners.From = snapshot.NamespacesSame },
			[]string{},
		},
		{
			"a Gateway admits sets by label",
			func(e *edge) {
				e.gateway.AllowedListeners.From = snapshot.NamespacesSelector
				e.gateway.AllowedListeners.Selector = snapshot.Selector{{Key: "edge", Op: snapshot.Exists}}
				e.facts.Namespaces[1].Labels = snapshot.NewLabels(map[string]string{"edge": ""})
			},
			[]string{routeClaims, setClaims},
		},
		{"a set being deleted", func(e *edge) { e.set.Deletion = &snapshot.Deletion{} }, []string{routeClaims, setClaims}},
		{"a set of a Gateway being deleted", func(e *edge) { e.gateway.Deletion = &snapshot.Deletion{} }, []string{routeClaims, setClaims}},
		{"a set of a Gateway that is gone", func(e *edge) { e.set.Parent.Name = "gone" }, []string{}},
		{"a set on something else than a Gateway", func(e *edge) { e.set.Parent.Kind = "Service" }, []string{}},
		{"a set on itself", func(e *edge) { e.set.Parent = e.set.Ref() }, []string{}},
		{
			"the set claims nothing by a listener without hostname, and the route claims every host of the Gateway",
			func(e *edge) { e.set.Listeners[0].Hostname = "" },
			[]string{"HTTPRoute team-a/shop: * (gateway platform/edge) (no-hostname)"},
		},
		{
			"hostnames mean nothing to TCP",
			func(e *edge) { e.set.Listeners[0].Protocol = "TCP" },
			[]string{},
		},
		{
			"a listener of the set takes routes of the set's namespace, whatever the Gateway's",
			func(e *edge) { e.route.Namespace = "platform"; e.route.Parents[0].Ref = e.set.Ref() },
			[]string{setClaims},
		},
		{
			"a listener of the set that takes routes from everywhere",
			func(e *edge) {
				e.route.Namespace = "platform"
				e.set.Listeners[0].AllowedRoutes.From = snapshot.NamespacesAll
			},
			[]string{"HTTPRoute platform/shop: own.example.com (parent-hostname)", setClaims},
		},
		{
			"a route on the Gateway has no part in the listeners of its sets",
			func(e *edge) {
				e.route.Parents[0] = snapshot.ParentRef{Ref: e.gateway.Ref(), Section: "own"}
				e.set.Listeners[0].Name = "own"
			},
			[]string{setClaims},
		},
		{
			"a route on the set has no part in the listeners of the Gateway",
			func(e *edge) { e.route.Parents[0].Section = "tls" },
			[]string{setClaims},
		},
	}
	for i, c := range cases {
		cases[i].change = func(e *edge) { onSet(e); c.change(e) }
	}
	checkEdges(t, cases)
}

func TestSolverRoutesAreMarked(t *testing.T) {
	for _, c := range []struct {
		name                string
		label, owner, paths bool
		want                bool
	}{
		{"as cert-manager makes it", true, true, true, true},
		{"without the label", false, true, true, false},
		{"without the Challenge", true, false, true, false},
		{"with other paths", true, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEdge()
			e.route.SolverLabel, e.route.ChallengeOwner, e.route.ChallengePaths = c.label, c.owner, c.paths
			if got := e.claims().byHost["shop.example.com"][0].solver; got != c.want {
				t.Errorf("solver: %t, want %t", got, c.want)
			}
		})
	}
}

func TestClaimNamesItsFirstListeners(t *testing.T) {
	e := newEdge()
	e.gateway.Listeners = nil
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		e.gateway.Listeners = append(e.gateway.Listeners, snapshot.Listener{
			Name: name, Protocol: "HTTP", AllowedRoutes: snapshot.AllowedNamespaces{From: snapshot.NamespacesAll},
		})
	}
	const want = "hostname of the route, gateway platform/edge (listener a), gateway platform/edge (listener b), " +
		"gateway platform/edge (listener c)"
	if got := e.claims().byHost["shop.example.com"][0].detail(); got != want {
		t.Errorf("detail %q, want %q", got, want)
	}
}

func TestTakesKind(t *testing.T) {
	routes := []string{"HTTPRoute", "GRPCRoute", "TLSRoute"}
	ours := func(kinds ...string) (list []snapshot.GroupKind) {
		for _, k := range kinds {
			list = append(list, snapshot.GroupKind{Group: "gateway.networking.k8s.io", Kind: k})
		}
		return list
	}
	foreign := []snapshot.GroupKind{{Group: "example.com", Kind: "HTTPRoute"}, {Kind: "TLSRoute"}}
	for _, c := range []struct {
		name, protocol string
		kinds          []snapshot.GroupKind
		want           [3]bool
	}{
		{"HTTP takes the routes of HTTP", "HTTP", nil, [3]bool{true, true, false}},
		{"HTTPS takes the routes of HTTP", "HTTPS", nil, [3]bool{true, true, false}},
		{"TLS takes TLSRoutes", "TLS", nil, [3]bool{false, false, true}},
		{"TCP takes none of them", "TCP", nil, [3]bool{}},
		{"UDP takes none of them", "UDP", nil, [3]bool{}},
		{"what a foreign protocol takes is not known", "example.com/h3", nil, [3]bool{}},
		{"a listener without a protocol takes no route", "", nil, [3]bool{}},
		{"the protocol is spelled in capitals", "http", nil, [3]bool{}},

		{"listed kinds only", "HTTP", ours("GRPCRoute"), [3]bool{false, true, false}},
		{"several listed kinds", "HTTPS", ours("GRPCRoute", "HTTPRoute"), [3]bool{true, true, false}},
		{"HTTPS never takes a TLSRoute", "HTTPS", ours("TLSRoute", "HTTPRoute"), [3]bool{true, false, false}},
		{"HTTP never takes a TLSRoute", "HTTP", ours("TLSRoute"), [3]bool{}},
		{"TLS never takes an HTTPRoute", "TLS", ours("HTTPRoute", "TLSRoute"), [3]bool{false, false, true}},
		{"TCP takes none of them though they are listed", "TCP", ours("HTTPRoute", "GRPCRoute", "TLSRoute"), [3]bool{}},
		{"the list of a foreign protocol is believed", "example.com/h3", ours("HTTPRoute"), [3]bool{true, false, false}},
		{"a kind of that name in another group is another kind", "HTTP", foreign, [3]bool{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &snapshot.Listener{Protocol: c.protocol, Kinds: c.kinds}
			for i, kind := range routes {
				if got := takesKind(l, kind); got != c.want[i] {
					t.Errorf("takes %s: %t, want %t", kind, got, c.want[i])
				}
			}
		})
	}
}

func TestAdmits(t *testing.T) {
	var b snapshot.Builder
	b.Add(snapshot.Facts{Namespaces: []snapshot.Namespace{
		{Meta: snapshot.Meta{Name: "team-a"}, Labels: snapshot.NewLabels(map[string]string{"edge": "yes"})},
		{Meta: snapshot.Meta{Name: "team-b"}},
		{Meta: snapshot.Meta{Name: "odd"}, Labels: snapshot.NewLabels(map[string]string{"kubernetes.io/metadata.name": "odd"})},
	}})
	v := b.Freeze().View(snapshot.Namespaces)
	named := func(name string) snapshot.Selector {
		return snapshot.Selector{{Key: "kubernetes.io/metadata.name", Op: snapshot.In, Values: []string{name}}}
	}
	selected := func(s snapshot.Selector) snapshot.AllowedNamespaces {
		return snapshot.AllowedNamespaces{From: snapshot.NamespacesSelector, Selector: s}
	}
	edge := selected(snapshot.Selector{{Key: "edge", Op: snapshot.In, Values: []string{"yes"}}})
	for _, c := range []struct {
		name       string
		admission  snapshot.AllowedNamespaces
		own, other string
		want       bool
	}{
		{"the zero value admits nothing", snapshot.AllowedNamespaces{}, "team-a", "team-a", false},
		{"All admits another namespace", snapshot.AllowedNamespaces{From: snapshot.NamespacesAll}, "platform", "team-a", true},
		{"Same admits the own namespace", snapshot.AllowedNamespaces{From: snapshot.NamespacesSame}, "team-a", "team-a", true},
		{"Same does not admit another one", snapshot.AllowedNamespaces{From: snapshot.NamespacesSame}, "platform", "team-a", false},
		{"a selector admits by label", edge, "platform", "team-a", true},
		{"a selector does not admit without the label", edge, "platform", "team-b", false},
		{"a selector knows nothing of the own namespace", edge, "team-b", "team-b", false},
		{"the empty selector admits everybody", selected(nil), "platform", "team-b", true},
		{"a namespace has its name for a label though the manifest leaves it out", selected(named("team-b")), "platform", "team-b", true},
		{"a namespace that has the label is not given another", selected(named("odd")), "platform", "odd", true},
		{"a namespace without a manifest has its name for a label", selected(named("elsewhere")), "platform", "elsewhere", true},
		{"a namespace without a manifest has no other label", edge, "platform", "elsewhere", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := admits(v, &c.admission, c.own, c.other); got != c.want {
				t.Errorf("admits(%s, %s) = %t, want %t", c.own, c.other, got, c.want)
			}
		})
	}
}
