package cilium_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// everyPortOf are all ports of protocols.
func everyPortOf(protocols ...snapshot.Protocol) snapshot.Ports {
	var out snapshot.Ports
	for _, p := range protocols {
		out.Ranges = append(out.Ranges, snapshot.PortRange{Protocol: p, Last: snapshot.LastPort})
	}
	return out
}

func block(prefix string, except ...string) snapshot.CIDR {
	b := snapshot.CIDR{Prefix: netip.MustParsePrefix(prefix)}
	for _, e := range except {
		b.Except = append(b.Except, netip.MustParsePrefix(e))
	}
	return b
}

func TestPeers(t *testing.T) {
	const name = "kubernetes.io/metadata.name"
	exists := snapshot.Selector{{Key: name, Op: snapshot.Exists}}
	app := snapshot.Selector{{Key: "app", Op: snapshot.In, Values: []string{"web"}}}
	prod := snapshot.Selector{{Key: "env", Op: snapshot.In, Values: []string{"prod"}}}
	pods := func(p ...snapshot.PodPeer) snapshot.Peers { return snapshot.Peers{Pods: p} }
	blocks := func(b ...snapshot.CIDR) snapshot.Peers { return snapshot.Peers{CIDRs: b} }
	for title, row := range map[string]struct {
		namespace, rule string
		want            snapshot.Peers
	}{
		"an empty selector is for the pods of the namespace": {"team-a", "toEndpoints: [{}]", pods(snapshot.PodPeer{OwnNamespace: true})},
		"and for all pods where there is no namespace":       {"", "toEndpoints: [{}]", pods(snapshot.PodPeer{})},
		"labels are those of the pods": {
			"team-a", "toEndpoints: [{matchLabels: {'k8s:app': web}}]", pods(snapshot.PodPeer{OwnNamespace: true, Pods: app}),
		},
		"a selector that names namespaces leaves its own": {
			"team-a", "toEndpoints: [{matchLabels: {app: web}, matchExpressions: [{key: io.kubernetes.pod.namespace, operator: Exists}]}]",
			pods(snapshot.PodPeer{Namespaces: exists, Pods: app}),
		},
		"and so does one that names labels of namespaces": {
			"team-a", "toEndpoints: [{matchLabels: {'any:io.cilium.k8s.namespace.labels.env': prod}}]",
			pods(snapshot.PodPeer{Namespaces: prod}),
		},
		"what pods are not asked for decides nothing": {
			"", "toEndpoints: [{matchExpressions: [{key: 'reserved:host', operator: DoesNotExist}]}]", pods(snapshot.PodPeer{}),
		},
		"the world may be named by its label": {"team-a", "toEndpoints: [{matchLabels: {'reserved:world': ''}}]", snapshot.Peers{Internet: true}},
		"pods are named by their account": {
			"", "toEndpoints: [{matchLabels: {io.cilium.k8s.policy.serviceaccount: web}}]",
			pods(snapshot.PodPeer{Pods: snapshot.Selector{{Key: snapshot.ServiceAccountKey, Op: snapshot.In, Values: []string{"web"}}}}),
		},
		"a cluster is not known": {
			"", "toEndpoints: [{matchLabels: {io.cilium.k8s.policy.cluster: east}}]",
			snapshot.Peers{Unsure: []snapshot.UnsurePeer{{Kind: "configmaps", Why: "the name of the cluster, which io.cilium.k8s.policy.cluster has, is not read"}}},
		},
		"a label of the runtime is not known": {"", "toEndpoints: [{matchLabels: {'container:app': web}}]", snapshot.Peers{}},
		"a label outside identities neither":  {"", "toEndpoints: [{matchLabels: {pod-template-hash: abc}}]", snapshot.Peers{}},
		"all is everybody":                    {"team-a", "toEntities: [all]", snapshot.Peers{Everyone: true}},
		"the world is one class, all pods the other": {
			"team-a", "toEntities: [world, cluster]", snapshot.Peers{Internet: true, Pods: []snapshot.PodPeer{{}}},
		},
		"the world of one family is a block": {"team-a", "toEntities: [world-ipv4, world-ipv6]", blocks(block("0.0.0.0/0"), block("::/0"))},
		"narrow entities cover no group as a whole": {
			"team-a", "toEntities: [host, remote-node, kube-apiserver, ingress, health, init, unmanaged, none]", snapshot.Peers{},
		},
		"an address is a block of one": {"team-a", "toCIDR: [192.0.2.1, 10.1.2.3/8]", blocks(block("192.0.2.1/32"), block("10.0.0.0/8"))},
		"exceptions are cut out":       {"team-a", "toCIDRSet: [{cidr: 0.0.0.0/0, except: [10.0.0.0/8]}]", blocks(block("0.0.0.0/0", "10.0.0.0/8"))},
		"groups are named or selected": {
			"team-a", "toCIDRSet: [{cidrGroupRef: partners, except: [10.0.0.0/8]}, {cidrGroupSelector: {matchLabels: {'cidrgroup:app': web}}}, {cidrGroupSelector: {}}]",
			snapshot.Peers{Sets: []snapshot.SetPeer{
				{Engine: snapshot.CiliumSets, Name: "partners", Except: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
				{Engine: snapshot.CiliumSets, Labels: []snapshot.Selector{app}},
				{Engine: snapshot.CiliumSets, Labels: []snapshot.Selector{nil}},
			}},
		},
		"every name is the world":        {"team-a", "toFQDNs: [{matchName: a.example.com}, {matchPattern: '*'}]", snapshot.Peers{Internet: true}},
		"so is every name with the root": {"team-a", "toFQDNs: [{matchPattern: '**.'}]", snapshot.Peers{Internet: true}},
		"names of a domain are narrow":   {"team-a", "toFQDNs: [{matchPattern: '*.com'}, {matchPattern: '.'}, {matchPattern: '*.*.example.com'}]", snapshot.Peers{}},
		"names of any domain are not":    {"team-a", "toFQDNs: [{matchPattern: '*.*'}]", snapshot.Peers{Internet: true}},
		"services are narrow":            {"team-a", "toServices: [{k8sService: {serviceName: a, namespace: b}}]", snapshot.Peers{}},
		"authentication leaves the pods": {
			"team-a", "authentication: {mode: required}\ntoEntities: [world, cluster]", pods(snapshot.PodPeer{}),
		},
		"authentication that is switched off leaves all": {
			"team-a", "authentication: {mode: disabled}\ntoEntities: [all]", snapshot.Peers{Everyone: true},
		},
	} {
		t.Run(title, func(t *testing.T) {
			p := cilium(t, row.namespace, "endpointSelector: {}\negress:\n- "+strings.ReplaceAll(row.rule, "\n", "\n  "))
			if p.Invalid != "" {
				t.Fatal(p.Invalid)
			}
			same(t, []snapshot.Rule{{Peers: row.want, Ports: snapshot.Ports{All: true}}}, p.Rules[snapshot.DirectionEgress])
		})
	}
}

func TestPorts(t *testing.T) {
	web := snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.TCP, First: 80, Last: 80}}}
	for title, row := range map[string]struct {
		ports string
		want  snapshot.Rule
	}{
		"port 0 is every port":         {"ports: [{port: '0', protocol: TCP}]", snapshot.Rule{Ports: everyPortOf(snapshot.TCP)}},
		"no protocol is every one":     {"ports: [{port: '0'}]", snapshot.Rule{Ports: everyPortOf(snapshot.TCP, snapshot.UDP, snapshot.SCTP)}},
		"any protocol is every one":    {"ports: [{port: '0', protocol: ANY}]", snapshot.Rule{Ports: everyPortOf(snapshot.TCP, snapshot.UDP, snapshot.SCTP)}},
		"ICMP has no ports":            {"ports: [{port: '8', protocol: ICMP}]", snapshot.Rule{}},
		"no ports are none":            {"ports: []", snapshot.Rule{}},
		"a name is no number":          {"ports: [{port: http}, {port: '0x10'}]", snapshot.Rule{Ports: snapshot.Ports{Named: 2}}},
		"a single port is a range":     {"ports: [{port: '80', protocol: TCP}]", snapshot.Rule{Ports: web}},
		"empty conditions are none":    {"ports: [{port: '80', protocol: TCP}]\n    rules: {}\n    serverNames: []", snapshot.Rule{Ports: web}},
		"HTTP is a condition":          {"ports: [{port: '80', protocol: TCP}]\n    rules: {http: [{}]}", snapshot.Rule{Ports: web, Narrow: true}},
		"a server name is a condition": {"ports: [{port: '80', protocol: TCP}]\n    serverNames: [a.example.com]", snapshot.Rule{Ports: web, Narrow: true}},
		"TLS is a condition":           {"ports: [{port: '80', protocol: TCP}]\n    terminatingTLS: {}", snapshot.Rule{Ports: web, Narrow: true}},
		"a listener is a condition":    {"ports: [{port: '80', protocol: TCP}]\n    listener: {name: l}", snapshot.Rule{Ports: web, Narrow: true}},
		"an end makes a range": {
			"ports: [{port: '80', endPort: 90, protocol: udp}]",
			snapshot.Rule{Ports: snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.UDP, First: 80, Last: 90}}}},
		},
	} {
		t.Run(title, func(t *testing.T) {
			p := cilium(t, "team-a", "endpointSelector: {}\negress:\n- toPorts:\n  - "+row.ports)
			if p.Invalid != "" {
				t.Fatal(p.Invalid)
			}
			row.want.Peers.Everyone = true
			same(t, []snapshot.Rule{row.want}, p.Rules[snapshot.DirectionEgress])
		})
	}
}

func TestRulesThatDecideOnNothing(t *testing.T) {
	for title, rule := range map[string]string{
		"neither peers nor ports":       "{}",
		"no ports in the list":          "{toPorts: []}",
		"ICMP alone":                    "{icmps: [{fields: [{type: 8}]}]}",
		"ICMP with somebody":            "{toEntities: [world], icmps: [{fields: [{type: 8}]}]}",
		"nobody in the list":            "{toEndpoints: []}",
		"nobody, on every port":         "{toEndpoints: [], toPorts: [{ports: [{port: '0'}]}]}",
		"no block, on every port":       "{toCIDR: [], toPorts: [{ports: [{port: '0'}]}]}",
		"no set of blocks":              "{toCIDRSet: [], toPorts: [{ports: [{port: '0'}]}]}",
		"no entity, on every port":      "{toEntities: [], toPorts: [{ports: [{port: '0'}]}]}",
		"no node, on every port":        "{toNodes: [], toPorts: [{ports: [{port: '0'}]}]}",
		"nobody beside somebody":        "{toEndpoints: [], toEntities: [all]}",
		"requirements without anything": "{toRequires: [{matchLabels: {a: b}}]}",
	} {
		t.Run(title, func(t *testing.T) {
			p := cilium(t, "team-a", "endpointSelector: {}\negress: ["+rule+"]")
			if p.Invalid != "" || len(p.Rules[snapshot.DirectionEgress]) > 0 || !p.Isolates[snapshot.DirectionEgress] {
				t.Errorf("want it to isolate and no more, got %+v", p)
			}
		})
	}
}

func TestRequirementsAreConditions(t *testing.T) {
	p := cilium(t, "team-a", "endpointSelector: {}\ningress: [{fromEntities: [all], fromRequires: [{matchLabels: {a: b}}]}]")
	if rules := p.Rules[snapshot.DirectionIngress]; len(rules) != 1 || !rules[0].Narrow {
		t.Errorf("want one narrow rule, got %+v", rules)
	}
}

func TestDenialsHaveNoConditions(t *testing.T) {
	p := cilium(t, "team-a", `endpointSelector: {}
ingressDeny:
- authentication: {mode: test-always-fail}
  toPorts:
  - ports: [{port: "0"}]
    rules: {http: [{}]}`)
	want := snapshot.Rule{
		Action: snapshot.Deny, Peers: snapshot.Peers{Everyone: true}, Ports: everyPortOf(snapshot.TCP, snapshot.UDP, snapshot.SCTP),
	}
	same(t, []snapshot.Rule{want}, p.Denies[snapshot.DirectionIngress])
}
