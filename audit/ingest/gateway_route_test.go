package ingest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

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
