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

// edge is a small world to change: platform's Gateway with an HTTP listener for
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
	c := &claims{byHost: map[string][]*claim{}}
	gatewayClaims(c, rules.Input{
		View:  b.Freeze().View(Rule().Needs...),
		Owner: func(m *snapshot.Meta) rules.Owner { return rules.Owner{Name: m.Namespace} },
	})
	return c
}

// claimed returns what is claimed, a line for each claim: who, what, and how.
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

// The claims of an edge that nothing was changed in.
const (
	setClaims  = "ListenerSet team-a/own: own.example.com (listener)"
	shopClaims = "HTTPRoute team-a/shop: shop.example.com (hostname)"
)

// edgeCase is a change to the edge and all that is claimed then.
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
