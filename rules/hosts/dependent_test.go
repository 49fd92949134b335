package hosts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// What depends on an object that could not be read resolves nothing.
func TestDependents(t *testing.T) {
	gateway := snapshot.Ref{Group: snapshot.GatewayGroup, Kind: "Gateway", Namespace: "infra", Name: "front"}
	other := gateway
	other.Name = "other"
	route := func(name string, to snapshot.Ref) snapshot.Route {
		return snapshot.Route{
			Meta:    snapshot.Meta{Group: snapshot.GatewayGroup, Kind: "HTTPRoute", Namespace: "shop", Name: name},
			Parents: []snapshot.ParentRef{{Ref: to}}, Hostnames: []string{"shop.example.com"},
		}
	}
	set := snapshot.ListenerSet{
		Meta: snapshot.Meta{Group: snapshot.GatewayGroup, Kind: "ListenerSet", Namespace: "shop", Name: "more"}, Parent: gateway,
	}
	ingress := func(name, class string) snapshot.Ingress {
		return snapshot.Ingress{Meta: snapshot.Meta{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "blog", Name: name}, Class: class}
	}
	var b snapshot.Builder
	b.Add(snapshot.Facts{
		Routes:       []snapshot.Route{route("attached", gateway), route("by-set", set.Ref()), route("elsewhere", other)},
		ListenerSets: []snapshot.ListenerSet{set},
		Ingresses:    []snapshot.Ingress{ingress("a", "broken"), ingress("b", "fine"), ingress("c", "")},
		Faults: []snapshot.Fault{
			{Ref: gateway, Resource: snapshot.Gateways},
			{Ref: snapshot.Ref{Group: "networking.k8s.io", Kind: "IngressClass", Name: "broken"}, Resource: snapshot.IngressClasses},
		},
	})
	rule := hosts.Rule()
	res, err := rule.Run(rules.Input{
		View:  b.Freeze().View(append(rule.Needs, rule.Uses...)...),
		Owner: func(m *snapshot.Meta) rules.Owner { return rules.Owner{Name: m.Namespace} },
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range res.Dependent {
		got = append(got, r.String())
	}
	want := []string{"Ingress blog/a", "Ingress blog/c", "HTTPRoute shop/attached", "HTTPRoute shop/by-set", "ListenerSet shop/more"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dependents (-want +got):\n%s", diff)
	}
}

// An object that asks for every host of a proxy that is not known resolves nothing that it
// was part of. One that asks by an expression counts as not read, and nothing is resolved
// that any object of its namespace was part of.
func TestEveryHostOfAnUnknownProxy(t *testing.T) {
	meta := func(kind, ns string) snapshot.Meta {
		return snapshot.Meta{Group: "getambassador.io", Kind: kind, Namespace: ns, Name: "shop"}
	}
	var b snapshot.Builder
	b.Add(snapshot.Facts{HostObjects: []snapshot.HostObject{
		{Meta: meta("Mapping", "named"), Hosts: []snapshot.HostPattern{{Host: "shop.example.com"}}},
		{Meta: meta("Mapping", "star"), Hosts: []snapshot.HostPattern{{Host: "*"}}},
		{Meta: meta("Mapping", "expression"), Expressions: []snapshot.HostExpression{snapshot.NewHostExpression(".*", "~.*", snapshot.FromHostSource)}},
		{
			Meta: meta("IngressRoute", "traefik"), Hosts: []snapshot.HostPattern{{Host: "*"}},
			Bindings: []snapshot.Binding{{EntryPoint: "web", Lanes: []snapshot.Lane{{Prefix: "http "}}}},
		},
	}})
	rule := hosts.Rule()
	res, err := rule.Run(rules.Input{
		View:  b.Freeze().View(append(rule.Needs, rule.Uses...)...),
		Owner: func(m *snapshot.Meta) rules.Owner { return rules.Owner{Name: m.Namespace} },
	})
	if err != nil {
		t.Fatal(err)
	}
	dependent := meta("Mapping", "star")
	if diff := cmp.Diff([]snapshot.Ref{dependent.Ref()}, res.Dependent); diff != "" {
		t.Errorf("dependents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"expression"}, res.UnreadIn); diff != "" {
		t.Errorf("namespaces with what was not read (-want +got):\n%s", diff)
	}
}
