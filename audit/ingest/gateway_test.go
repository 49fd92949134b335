package ingest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// takeGateway takes in an object of the Gateway API, written in YAML.
func takeGateway(t *testing.T, object, manifest string) snapshot.Facts {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	custom := gatewayCustom(t, object)
	var facts snapshot.Facts
	if err := custom.Take(ingest.New([]string{"owner"}), data, &facts); err != nil {
		t.Fatal(err)
	}
	return facts
}

func gatewayCustom(t *testing.T, object string) ingest.Custom {
	t.Helper()
	all := ingest.Customs()
	i := slices.IndexFunc(all, func(c ingest.Custom) bool { return c.Object == object })
	if i < 0 {
		t.Fatalf("no custom kind %s", object)
	}
	return all[i]
}

func sameFacts(t *testing.T, want, got snapshot.Facts) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

const gatewayGroup = "gateway.networking.k8s.io"

func TestGatewayWithEveryField(t *testing.T) {
	got := takeGateway(t, "Gateway", `
metadata:
  namespace: platform
  name: edge
  uid: 1111-2222
  generation: 3
  creationTimestamp: "2027-01-15T12:00:00+01:00"
  deletionTimestamp: "2027-01-16T12:00:00+01:00"
  labels: {owner: platform}
spec:
  gatewayClassName: shared
  defaultScope: All
  allowedListeners:
    namespaces:
      from: Selector
      selector: {matchLabels: {edge: "yes"}}
  listeners:
    - name: https
      hostname: "*.Example.com"
      port: 443
      protocol: HTTPS
      tls: {mode: Terminate, certificateRefs: [{name: cert}]}
      allowedRoutes:
        namespaces: {from: All}
        kinds: [{kind: HTTPRoute}, {group: example.com, kind: OtherRoute}, {group: "", kind: CoreRoute}]
    - {name: tls, port: 8443, protocol: TLS}
`)
	sameFacts(t, snapshot.Facts{Gateways: []snapshot.Gateway{{
		Meta: snapshot.Meta{
			Group: gatewayGroup, Kind: "Gateway", Namespace: "platform", Name: "edge",
			Created: time.Date(2027, 1, 15, 11, 0, 0, 0, time.UTC), Deleting: true,
			Owner: snapshot.OwnerKey{Value: "platform", Key: "owner"},
		},
		Class:   "shared",
		Default: true,
		AllowedListeners: snapshot.AllowedNamespaces{
			From:     snapshot.NamespacesSelector,
			Selector: snapshot.Selector{{Key: "edge", Op: snapshot.In, Values: []string{"yes"}}},
		},
		Listeners: []snapshot.Listener{{
			Name: "https", Hostname: "*.Example.com", Port: 443, Protocol: "HTTPS",
			AllowedRoutes: snapshot.AllowedNamespaces{From: snapshot.NamespacesAll},
			Kinds: []snapshot.GroupKind{
				{Group: gatewayGroup, Kind: "HTTPRoute"}, {Group: "example.com", Kind: "OtherRoute"}, {Kind: "CoreRoute"},
			},
		}, {
			Name: "tls", Port: 8443, Protocol: "TLS", AllowedRoutes: snapshot.AllowedNamespaces{From: snapshot.NamespacesSame},
		}},
	}}}, got)
}

func TestListenerSet(t *testing.T) {
	const spec = `
metadata: {namespace: team-a, name: own}
spec:
  parentRef: {name: edge, namespace: platform}
  listeners:
    - {name: shop, hostname: shop.example.com, port: 443, protocol: HTTPS}
`
	want := snapshot.ListenerSet{
		Meta:   snapshot.Meta{Group: gatewayGroup, Kind: "ListenerSet", Namespace: "team-a", Name: "own"},
		Parent: snapshot.Ref{Group: gatewayGroup, Kind: "Gateway", Namespace: "platform", Name: "edge"},
		Listeners: []snapshot.Listener{{
			Name: "shop", Hostname: "shop.example.com", Port: 443, Protocol: "HTTPS",
			AllowedRoutes: snapshot.AllowedNamespaces{From: snapshot.NamespacesSame},
		}},
	}
	sameFacts(t, snapshot.Facts{ListenerSets: []snapshot.ListenerSet{want}}, takeGateway(t, "ListenerSet", spec))

	want.Group, want.Kind = "gateway.networking.x-k8s.io", "XListenerSet"
	sameFacts(t, snapshot.Facts{ListenerSets: []snapshot.ListenerSet{want}}, takeGateway(t, "XListenerSet", spec))
}

func TestGatewayKindsBearMissingFields(t *testing.T) {
	for _, object := range []string{"Gateway", "ListenerSet", "XListenerSet", "HTTPRoute", "GRPCRoute", "TLSRoute"} {
		for _, manifest := range []string{
			`{metadata: {name: bare}}`,
			`{metadata: {name: bare}, spec: null, status: null}`,
			`{metadata: {name: bare}, spec: {listeners: [null], parentRef: null, parentRefs: [null], hostnames: [null], rules: [null]}}`,
			`{metadata: {name: bare}, spec: {listeners: [{allowedRoutes: {namespaces: {}, kinds: [null]}}], allowedListeners: {}}}`,
		} {
			f := takeGateway(t, object, manifest)
			if n := len(f.Gateways) + len(f.ListenerSets) + len(f.Routes); n != 1 {
				t.Errorf("%s %s: %d facts", object, manifest, n)
			}
		}
	}
}

func TestGatewayKindsRefuseWhatTheyAreNot(t *testing.T) {
	custom := gatewayCustom(t, "HTTPRoute")
	var facts snapshot.Facts
	err := custom.Take(ingest.New(nil), []byte(`{"metadata": {"name": "bad"}, "spec": {"hostnames": "shop.example.com"}}`), &facts)
	if err == nil || len(facts.Routes) > 0 {
		t.Errorf("took hostnames that are no list: %v, %v", facts.Routes, err)
	}
}

func TestAdmission(t *testing.T) {
	all, same := snapshot.AllowedNamespaces{From: snapshot.NamespacesAll}, snapshot.AllowedNamespaces{From: snapshot.NamespacesSame}
	none := snapshot.AllowedNamespaces{From: snapshot.NamespacesNone}
	for _, c := range []struct {
		name, namespaces string
		routes, sets     snapshot.AllowedNamespaces
	}{
		{"nothing said admits routes of the own namespace and no sets", `null`, same, none},
		{"no from says nothing", `{}`, same, none},
		{"an empty from says nothing", `{from: ""}`, same, none},
		{"All admits all", `{from: All}`, all, all},
		{"Same admits the own namespace", `{from: Same}`, same, same},
		{"None admits nobody", `{from: None}`, none, none},
		{"an unknown word admits nobody", `{from: Everybody}`, none, none},
		{"a selector without the word is ignored", `{selector: {matchLabels: {a: b}}}`, same, none},
		{"a selector beside another word is ignored", `{from: All, selector: {matchLabels: {a: b}}}`, all, all},
		{"Selector without a selector admits nobody", `{from: Selector}`, none, none},
		{"a selector that makes no sense admits nobody", `{from: Selector, selector: {matchExpressions: [{key: a, operator: In}]}}`, none, none},
		{
			"an empty selector admits every namespace", `{from: Selector, selector: {}}`,
			snapshot.AllowedNamespaces{From: snapshot.NamespacesSelector},
			snapshot.AllowedNamespaces{From: snapshot.NamespacesSelector},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := takeGateway(t, "Gateway", `
metadata: {name: edge}
spec:
  allowedListeners: {namespaces: `+c.namespaces+`}
  listeners: [{name: http, allowedRoutes: {namespaces: `+c.namespaces+`}}]
`).Gateways[0]
			if diff := cmp.Diff([2]snapshot.AllowedNamespaces{c.routes, c.sets}, [2]snapshot.AllowedNamespaces{g.Listeners[0].AllowedRoutes, g.AllowedListeners}); diff != "" {
				t.Errorf("routes, sets (-want +got):\n%s", diff)
			}
		})
	}
}
