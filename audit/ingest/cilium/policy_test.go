package cilium_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// take ingests an object of a custom kind, written in YAML.
func take(t *testing.T, kind snapshot.Kind, manifest string) snapshot.Facts {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	all := ingest.Customs()
	i := slices.IndexFunc(all, func(c ingest.Custom) bool { return c.Kind == kind })
	if i < 0 {
		t.Fatalf("no custom kind %s", kind)
	}
	var facts snapshot.Facts
	if err := all[i].Take(ingest.New(nil), data, &facts); err != nil && !errors.Is(err, ingest.ErrOther) {
		t.Fatal(err)
	}
	return facts
}

// same fails the test unless two facts are the same.
func same[F any](t *testing.T, want, got F) {
	t.Helper()
	prefixes := cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
	if diff := cmp.Diff(want, got, prefixes); diff != "" {
		t.Errorf("fact (-want +got):\n%s", diff)
	}
}

// cilium ingests a policy of Cilium with a spec, written in YAML: one of the
// namespace team-a or, in the empty namespace, a clusterwide one.
func cilium(t *testing.T, namespace, spec string) snapshot.Policy {
	t.Helper()
	kind := snapshot.CiliumClusterwideNetworkPolicies
	if namespace != "" {
		kind = snapshot.CiliumNetworkPolicies
	}
	manifest := "metadata: {name: p, namespace: " + namespace + "}\nspec:\n  " + strings.ReplaceAll(spec, "\n", "\n  ")
	facts := take(t, kind, manifest)
	if len(facts.Policies) != 1 {
		t.Fatalf("want one policy, got %d", len(facts.Policies))
	}
	return facts.Policies[0]
}

func TestIsolates(t *testing.T) {
	const in, out = snapshot.DirectionIngress, snapshot.DirectionEgress
	for name, row := range map[string]struct {
		spec string
		want [2]bool
	}{
		"an empty rule isolates":                         {"ingress: [{}]", [2]bool{in: true}},
		"a rule that denies isolates":                    {"egressDeny: [{}]", [2]bool{out: true}},
		"both sections isolate both directions":          {"ingress: [{}]\negress: [{}]", [2]bool{true, true}},
		"an empty list isolates nothing":                 {"ingress: []\negress: [{}]", [2]bool{out: true}},
		"null is no list":                                {"ingress: null\negress: [{}]", [2]bool{out: true}},
		"what is switched off does not isolate":          {"enableDefaultDeny: {ingress: false}\ningress: [{}]\negress: [{}]", [2]bool{out: true}},
		"what is switched on without rules does neither": {"enableDefaultDeny: {ingress: true}\negress: [{}]", [2]bool{out: true}},
	} {
		t.Run(name, func(t *testing.T) {
			p := cilium(t, "team-a", "endpointSelector: {}\n"+row.spec)
			if p.Invalid != "" {
				t.Fatal(p.Invalid)
			}
			same(t, row.want, p.Isolates)
		})
	}
}

func TestDeniesBeforeItAllows(t *testing.T) {
	p := cilium(t, "team-a", `endpointSelector: {}
ingress: [{fromEntities: [all]}]
ingressDeny: [{fromEntities: [world]}]`)
	everyPort := snapshot.Ports{All: true}
	same(t, []snapshot.Rule{{Action: snapshot.Allow, Peers: snapshot.Peers{Everyone: true}, Ports: everyPort}}, p.Rules[snapshot.DirectionIngress])
	same(t, []snapshot.Rule{{Action: snapshot.Deny, Peers: snapshot.Peers{Internet: true}, Ports: everyPort}}, p.Denies[snapshot.DirectionIngress])
}

func TestSpecs(t *testing.T) {
	type part struct {
		Part     int
		Isolates [2]bool
		Invalid  bool
	}
	for name, row := range map[string]struct {
		kind     snapshot.Kind
		manifest string
		want     []part
	}{
		"each spec is a policy": {
			snapshot.CiliumNetworkPolicies,
			"spec: {endpointSelector: {}, ingress: [{}]}\nspecs: [{endpointSelector: {}, egress: [{}]}]",
			[]part{{0, [2]bool{true, false}, false}, {1, [2]bool{false, true}, false}},
		},
		"one that is wrong makes all wrong": {
			snapshot.CiliumNetworkPolicies,
			"specs: [{endpointSelector: {}, ingress: [{}]}, {endpointSelector: {}}]",
			[]part{{0, [2]bool{true, false}, true}, {1, [2]bool{true, true}, true}},
		},
		"one for nodes is none for pods": {
			snapshot.CiliumClusterwideNetworkPolicies,
			"specs: [{nodeSelector: {}, ingress: [{}]}, {endpointSelector: {}, egress: [{}]}]",
			[]part{{1, [2]bool{false, true}, false}},
		},
		"no spec at all is wrong": {
			snapshot.CiliumNetworkPolicies, "status: {}", []part{{0, [2]bool{true, true}, true}},
		},
		"no spec in the list is wrong": {
			snapshot.CiliumNetworkPolicies, "specs: []", []part{{0, [2]bool{true, true}, true}},
		},
		"what Cilium rejects is wrong": {
			snapshot.CiliumNetworkPolicies,
			"spec: {endpointSelector: {}, ingress: [{}]}\nstatus: {conditions: [{type: Valid, status: 'False'}]}",
			[]part{{0, [2]bool{true, false}, true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := take(t, row.kind, "metadata: {name: p}\n"+row.manifest)
			var got []part
			for _, p := range facts.Policies {
				got = append(got, part{p.Part, p.Isolates, p.Invalid != ""})
			}
			same(t, row.want, got)
		})
	}
}

func TestRejects(t *testing.T) {
	const every, in = "endpointSelector: {}\n", "ingress: [{toPorts: ["
	for name, row := range map[string]struct{ spec, want string }{
		"neither selector":          {"ingress: [{}]", "neither endpointSelector nor nodeSelector"},
		"both selectors":            {every + "nodeSelector: {}\ningress: [{}]", "both endpointSelector and nodeSelector"},
		"nodes from a namespace":    {"nodeSelector: {}\ningress: [{}]", "clusterwide policies only"},
		"an operator that is none":  {"endpointSelector: {matchExpressions: [{key: a, operator: Like}]}\ningress: [{}]", "unknown operator"},
		"no rules":                  {every, "no rule in any direction"},
		"two kinds of peers":        {every + "ingress: [{fromEntities: [world], fromCIDR: [10.0.0.0/8]}]", "two kinds of peers"},
		"an entity that is none":    {every + "ingress: [{fromEntities: [internet]}]", `unknown entity "internet"`},
		"a block that is none":      {every + "egress: [{toCIDR: [10.0.0.0/33]}]", "cidr"},
		"an exception elsewhere":    {every + "egressDeny: [{toCIDRSet: [{cidr: 10.0.0.0/8, except: [192.168.0.0/16]}]}]", "not in 10.0.0.0/8"},
		"a block that says nothing": {every + "egress: [{toCIDRSet: [{}]}]", "no cidr and no group"},
		"ICMP with ports":           {every + "ingress: [{icmps: [{}], toPorts: [{ports: [{port: '80'}]}]}]", "both icmps and toPorts"},
		"a port that is none":       {every + in + "{ports: [{port: '65536'}]}]}]", "neither a number nor a name"},
		"a protocol that is none":   {every + in + "{ports: [{port: '80', protocol: HTTP}]}]}]", `unknown protocol "HTTP"`},
		"HTTP without TCP":          {every + in + "{ports: [{port: '80'}], rules: {http: [{}]}}]}]", "for TCP only"},
		"HTTP on every port":        {every + in + "{ports: [{port: '0', protocol: TCP}], rules: {http: [{}]}}]}]", "single ports"},
		"DNS on the way in":         {every + in + "{ports: [{port: '53'}], rules: {dns: [{}]}}]}]", "for egress only"},
		"a listener on the way in":  {every + in + "{ports: [{port: '80'}], listener: {name: l}}]}]", "for egress only"},
	} {
		t.Run(name, func(t *testing.T) {
			p := cilium(t, "team-a", row.spec)
			if !strings.Contains(p.Invalid, row.want) {
				t.Errorf("want it to be rejected for %q, got %q", row.want, p.Invalid)
			}
		})
	}
}

func TestBearsMissingFields(t *testing.T) {
	for _, manifest := range []string{
		"{}", "spec: {}", "specs: [{}]", "spec: {endpointSelector: {}, ingress: [{toPorts: [{}]}], egress: [{toCIDRSet: [{}]}]}",
		"spec: {endpointSelector: null, ingress: null}", "status: {conditions: [{}]}",
		"spec: {endpointSelector: {}, egress: [{authentication: {}, toEndpoints: [{}], toPorts: [{ports: [{}], rules: {}}]}]}",
	} {
		take(t, snapshot.CiliumNetworkPolicies, manifest)
		take(t, snapshot.CiliumClusterwideNetworkPolicies, manifest)
		take(t, snapshot.CiliumConfigs, manifest)
	}
}
