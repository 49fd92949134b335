package hosts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
		{"a set being deleted", func(e *edge) { e.set.Deleting = true }, []string{}},
		{"a set of a Gateway being deleted", func(e *edge) { e.gateway.Deleting = true }, []string{}},
		{"a set of a Gateway that is gone", func(e *edge) { e.set.Parent.Name = "gone" }, []string{}},
		{"a set on something else than a Gateway", func(e *edge) { e.set.Parent.Kind = "Service" }, []string{}},
		{"a set on itself", func(e *edge) { e.set.Parent = e.set.Ref() }, []string{}},
		{
			"a listener without hostname is no claim of the set, and the route claims every host of the Gateway",
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

func TestSolverRoutesClaimNothing(t *testing.T) {
	for _, c := range []struct {
		name                string
		label, owner, paths bool
		want                []string
	}{
		{"a genuine solver", true, true, true, []string{setClaims}},
		{"without the label", false, true, true, []string{shopClaims, setClaims}},
		{"without the Challenge", true, false, true, []string{shopClaims, setClaims}},
		{"with other paths", true, true, false, []string{shopClaims, setClaims}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEdge()
			e.route.SolverLabel, e.route.ChallengeOwner, e.route.ChallengePaths = c.label, c.owner, c.paths
			if diff := cmp.Diff(c.want, e.claimed()); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
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
