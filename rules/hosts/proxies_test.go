package hosts

import (
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestIstioGatewayAdmits(t *testing.T) {
	for _, c := range []struct {
		served          []string
		namespace, host string
		want            bool
	}{
		{[]string{"*"}, "team-a", "shop.example.com", true},
		{[]string{"*/*"}, "team-a", "shop.example.com", true},
		{[]string{"*/shop.example.com"}, "team-a", "shop.example.com", true},
		{[]string{"team-a/*"}, "team-a", "shop.example.com", true},
		{[]string{"team-a/*"}, "team-b", "shop.example.com", false},
		{[]string{"team-a/*", "team-b/shop.example.com"}, "team-b", "shop.example.com", true},
		{[]string{"./*"}, "edge", "shop.example.com", true},
		{[]string{"./*"}, "team-a", "shop.example.com", false},
		{[]string{"Shop.Example.com."}, "team-a", "shop.example.com", true},
		{[]string{"blog.example.com"}, "team-a", "shop.example.com", false},
		{[]string{"*.example.com"}, "team-a", "a.shop.example.com", true},
		{[]string{"*.example.com"}, "team-a", "example.com", false},
		{[]string{"*.example.com"}, "team-a", "*.shop.example.com", true},
		{[]string{"a.shop.example.com"}, "team-a", "*.shop.example.com", true},
		{[]string{"*.shop.example.com"}, "team-a", "*.example.com", true},
		{[]string{"*.example.net"}, "team-a", "*.example.com", false},
		{[]string{"shop.example.com"}, "team-a", "", true},
		{[]string{"team-b/shop.example.com"}, "team-a", "", false},
		{nil, "team-a", "shop.example.com", false},
	} {
		g := istioGateways{"edge/public": {Meta: snapshot.Meta{Namespace: "edge", Name: "public"}, Hosts: c.served}}
		if got := g.admitAt(&snapshot.Binding{Gateway: "edge/public"}, c.namespace, c.host); got != c.want {
			t.Errorf("servers for %v admit %q from %s: %t, want %t", c.served, c.host, c.namespace, got, c.want)
		}
	}
}

// A Gateway that is not known shuts nothing out.
func TestIstioGatewayUnknown(t *testing.T) {
	gateway := snapshot.IstioGateway{Meta: snapshot.Meta{Namespace: "edge", Name: "public"}, Hosts: []string{"team-a/*"}}
	object := &snapshot.HostObject{
		Meta:     snapshot.Meta{Namespace: "team-b", Name: "web"},
		Bindings: []snapshot.Binding{{Gateway: "edge/public"}, {Gateway: "edge/public"}},
	}
	for _, c := range []struct {
		name   string
		status snapshot.Status
		facts  []snapshot.IstioGateway
		want   bool
	}{
		{"listed", snapshot.Listed, []snapshot.IstioGateway{gateway}, false},
		{"forbidden", snapshot.Forbidden, nil, true},
		{"failed", snapshot.Failed, nil, true},
		{"absent", snapshot.Absent, nil, true},
		{"another one", snapshot.Listed, []snapshot.IstioGateway{{Meta: snapshot.Meta{Namespace: "team-b", Name: "public"}}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b snapshot.Builder
			b.Add(snapshot.Facts{IstioGateways: c.facts}, snapshot.Read{Kind: snapshot.IstioGateways, Status: c.status})
			gateways := newIstioGateways(b.Freeze().View(snapshot.IstioGateways))
			if got := gateways.admit(object, "shop.example.com"); got != c.want {
				t.Errorf("admitted: %t, want %t", got, c.want)
			}
		})
	}
	object.Bindings = nil
	if !(istioGateways{}).admit(object, "shop.example.com") {
		t.Error("an object without gateways was shut out")
	}
}
