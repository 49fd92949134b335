package hosts

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
		{"without a protocol there is no listener", "", nil, [3]bool{}},
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
		{"the zero value admits nobody", snapshot.AllowedNamespaces{}, "team-a", "team-a", false},
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
