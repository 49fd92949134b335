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

// takeGateway ingests an object of the Gateway API, written in YAML.
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
			Created:  time.Date(2027, 1, 15, 11, 0, 0, 0, time.UTC),
			Deletion: &snapshot.Deletion{At: time.Date(2027, 1, 16, 11, 0, 0, 0, time.UTC)},
			Owner:    snapshot.OwnerKey{Value: "platform", Key: "owner"},
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

func TestGatewayKindsNameWhatTheyAreNot(t *testing.T) {
	custom := gatewayCustom(t, "HTTPRoute")
	var facts snapshot.Facts
	err := custom.Take(ingest.New(nil), []byte(`{"metadata": {"name": "bad"}, "spec": {"hostnames": "shop.example.com"}}`), &facts)
	if err != nil || len(facts.Routes) > 0 || len(facts.Faults) != 1 || facts.Faults[0].Name != "bad" {
		t.Errorf("took hostnames that are not a list: %v, %v, %v", facts.Routes, facts.Faults, err)
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
		{"None allows none", `{from: None}`, none, none},
		{"an unknown word allows none", `{from: Everybody}`, none, none},
		{"a selector without the word is ignored", `{selector: {matchLabels: {a: b}}}`, same, none},
		{"a selector beside another word is ignored", `{from: All, selector: {matchLabels: {a: b}}}`, all, all},
		{"Selector without a selector allows none", `{from: Selector}`, none, none},
		{"an invalid selector allows none", `{from: Selector, selector: {matchExpressions: [{key: a, operator: In}]}}`, none, none},
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

func TestRoutes(t *testing.T) {
	for _, kind := range []string{"HTTPRoute", "GRPCRoute", "TLSRoute"} {
		got := takeGateway(t, kind, `
metadata: {namespace: team-a, name: shop, generation: 2}
spec:
  parentRefs:
    - {name: edge, namespace: platform, sectionName: https, port: 443}
    - {name: own, kind: ListenerSet}
    - {name: older, kind: XListenerSet, group: gateway.networking.x-k8s.io}
    - {name: mesh, kind: Service, group: ""}
    - {name: blank, kind: "", namespace: "", sectionName: "", port: 0}
  useDefaultGateways: All
  hostnames: [Shop.example.com., "*.example.com"]
`)
		gateway := func(kind, namespace, name string) snapshot.Ref {
			return snapshot.Ref{Group: gatewayGroup, Kind: kind, Namespace: namespace, Name: name}
		}
		sameFacts(t, snapshot.Facts{Routes: []snapshot.Route{{
			Meta: snapshot.Meta{Group: gatewayGroup, Kind: kind, Namespace: "team-a", Name: "shop"},
			Parents: []snapshot.ParentRef{
				{Ref: gateway("Gateway", "platform", "edge"), Section: "https", Port: 443},
				{Ref: gateway("ListenerSet", "team-a", "own")},
				{Ref: snapshot.Ref{Group: "gateway.networking.x-k8s.io", Kind: "XListenerSet", Namespace: "team-a", Name: "older"}},
				{Ref: snapshot.Ref{Kind: "Service", Namespace: "team-a", Name: "mesh"}},
				{Ref: gateway("Gateway", "team-a", "blank")},
			},
			Hostnames: []string{"Shop.example.com.", "*.example.com"},
			Default:   true,
		}}}, got)
	}
}

func TestRouteTellsWhenItsHostsWereSet(t *testing.T) {
	const manifest = `
metadata:
  name: shop
  creationTimestamp: "2027-01-01T00:00:00Z"
  generation: 2
  managedFields:
    - {manager: a, operation: Update, time: "2027-01-02T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:hostnames": {}}}}
    - {manager: b, operation: Update, time: "2027-01-03T00:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:parentRefs": {}}}}
`
	for _, c := range []struct {
		name, spec string
		day        int
	}{
		{"by its hostnames", `spec: {hostnames: [shop.example.com]}`, 2},
		{"without hostnames by its parents", `spec: {parentRefs: [{name: edge}]}`, 3},
	} {
		want := time.Date(2027, 1, c.day, 0, 0, 0, 0, time.UTC)
		if got := takeGateway(t, "HTTPRoute", manifest+c.spec).Routes[0].HostsSet; !got.Equal(want) {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
	}
}

func TestRouteAsksForNoDefault(t *testing.T) {
	for _, spec := range []string{`{}`, `{useDefaultGateways: None}`, `{useDefaultGateways: ""}`} {
		if takeGateway(t, "HTTPRoute", `{metadata: {name: shop}, spec: `+spec+`}`).Routes[0].Default {
			t.Errorf("spec %s asks for the default Gateways", spec)
		}
	}
}

func TestSolverMarksOfRoutes(t *testing.T) {
	type marks struct{ Label, Owner, Paths bool }
	const (
		challenge = `[{apiVersion: acme.cert-manager.io/v1, kind: Challenge, name: c, uid: u}]`
		token     = `{path: {type: Exact, value: /.well-known/acme-challenge/aB3-_x}}`
	)
	for _, c := range []struct {
		name, kind, label, owner, rules string
		want                            marks
	}{
		{"a solver as cert-manager makes it", "HTTPRoute", `"true"`, challenge, `[{matches: [` + token + `]}]`, marks{true, true, true}},
		{"a label of another value", "HTTPRoute", `"false"`, challenge, `[{matches: [` + token + `]}]`, marks{false, true, true}},
		{
			"an owner of the kind in another group", "HTTPRoute", `"true"`,
			`[{apiVersion: example.com/v1, kind: Challenge, name: c, uid: u}]`, `[{matches: [` + token + `]}]`,
			marks{true, false, true},
		},
		{"no rules are a rule for every path", "HTTPRoute", `"true"`, challenge, `[]`, marks{true, true, false}},
		{"no matches are a match of every path", "HTTPRoute", `"true"`, challenge, `[{matches: [` + token + `]}, {}]`, marks{true, true, false}},
		{"no path is every path", "HTTPRoute", `"true"`, challenge, `[{matches: [` + token + `, {method: GET}]}]`, marks{true, true, false}},
		{
			"a path of no type is a prefix", "HTTPRoute", `"true"`, challenge,
			`[{matches: [{path: {value: /.well-known/acme-challenge/aB3}}]}]`,
			marks{true, true, false},
		},
		{
			"a prefix catches more than the token", "HTTPRoute", `"true"`, challenge,
			`[{matches: [{path: {type: PathPrefix, value: /.well-known/acme-challenge/aB3}}]}]`,
			marks{true, true, false},
		},
		{
			"the folder is no token", "HTTPRoute", `"true"`, challenge,
			`[{matches: [{path: {type: Exact, value: /.well-known/acme-challenge/}}]}]`,
			marks{true, true, false},
		},
		{
			"a folder below is no token", "HTTPRoute", `"true"`, challenge,
			`[{matches: [{path: {type: Exact, value: /.well-known/acme-challenge/a/b}}]}]`,
			marks{true, true, false},
		},
		{"a TLSRoute routes whole connections", "TLSRoute", `"true"`, challenge, `[{backendRefs: [{name: solver, port: 8089}]}]`, marks{true, true, false}},
		{"a GRPCRoute is no solver", "GRPCRoute", `"true"`, challenge, `[]`, marks{true, true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := takeGateway(t, c.kind, `
metadata: {name: solver, labels: {acme.cert-manager.io/http01-solver: `+c.label+`}, ownerReferences: `+c.owner+`}
spec: {rules: `+c.rules+`}
`).Routes[0]
			if diff := cmp.Diff(c.want, marks{r.SolverLabel, r.ChallengeOwner, r.ChallengePaths}); diff != "" {
				t.Errorf("marks (-want +got):\n%s", diff)
			}
		})
	}
}
