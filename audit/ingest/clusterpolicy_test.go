package ingest_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// clusterPolicy ingests a policy of the network policy API, its spec written in
// YAML.
func clusterPolicy(t *testing.T, kind snapshot.Kind, name, spec string) snapshot.Policy {
	t.Helper()
	facts := take(t, kind, "metadata: {name: "+name+"}\nspec:\n  "+strings.ReplaceAll(spec, "\n", "\n  "))
	if len(facts.Policies) != 1 {
		t.Fatalf("want one policy, got %d", len(facts.Policies))
	}
	return facts.Policies[0]
}

func TestClusterPolicyPlaces(t *testing.T) {
	const priority, admin, baseline = "priority: 7\n", "tier: Admin\n", "tier: Baseline\n"
	for title, row := range map[string]struct {
		kind        snapshot.Kind
		name, spec  string
		tier, order float64
	}{
		"an administrator's comes before all others":   {snapshot.AdminNetworkPolicies, "p", priority, snapshot.TierAdmin, 7},
		"the baseline comes behind all others":         {snapshot.BaselineAdminNetworkPolicies, "default", "", snapshot.TierBaseline, 0},
		"the tier says which of them it is":            {snapshot.ClusterNetworkPolicies, "p", priority + admin, snapshot.TierAdmin, 7},
		"and the baseline has an order then":           {snapshot.ClusterNetworkPolicies, "p", priority + baseline, snapshot.TierBaseline, 7},
		"the lowest priority is a priority":            {snapshot.ClusterNetworkPolicies, "p", "priority: 0\n" + admin, snapshot.TierAdmin, 0},
		"Amazon's kind stands where its upstream does": {snapshot.AWSClusterNetworkPolicies, "p", priority + admin, snapshot.TierAdmin, 7},
	} {
		t.Run(title, func(t *testing.T) {
			p := clusterPolicy(t, row.kind, row.name, row.spec+"subject: {namespaces: {}}\negress: [{action: Deny, to: [{namespaces: {}}]}]")
			if p.Invalid != "" || p.Tier != row.tier || p.Order != row.order || p.Isolates != [2]bool{} {
				t.Errorf("want tier %v and order %v, got %+v", row.tier, row.order, p)
			}
			same(t, snapshot.Subject{{}}, p.Subject)
		})
	}
}

func TestClusterPolicyRules(t *testing.T) {
	app := snapshot.Selector{{Key: "app", Op: snapshot.In, Values: []string{"web"}}}
	ns := snapshot.Selector{{Key: "env", Op: snapshot.Exists}}
	everyPort := snapshot.Ports{All: true}
	everyPod := snapshot.Peers{Pods: []snapshot.PodPeer{{}}}
	ports := func(named int, ranges ...snapshot.PortRange) snapshot.Rule {
		return snapshot.Rule{Peers: everyPod, Ports: snapshot.Ports{Ranges: ranges, Named: named}}
	}
	for title, row := range map[string]struct {
		rule string
		want snapshot.Rule
	}{
		"to accept is to allow":       {"action: Accept, to: [{namespaces: {}}]", snapshot.Rule{Peers: everyPod, Ports: everyPort}},
		"as it was called before":     {"action: Allow, to: [{namespaces: {}}]", snapshot.Rule{Peers: everyPod, Ports: everyPort}},
		"to deny is final":            {"action: Deny, to: [{namespaces: {}}]", snapshot.Rule{Action: snapshot.Deny, Peers: everyPod, Ports: everyPort}},
		"to pass leaves it to others": {"action: Pass, to: [{namespaces: {}}]", snapshot.Rule{Action: snapshot.Pass, Peers: everyPod, Ports: everyPort}},
		"pods are selected in namespaces": {
			"action: Accept, to: [{pods: {namespaceSelector: {matchExpressions: [{key: env, operator: Exists}]}, podSelector: {matchLabels: {app: web}}}}]",
			snapshot.Rule{Peers: snapshot.Peers{Pods: []snapshot.PodPeer{{Namespaces: ns, Pods: app}}}, Ports: everyPort},
		},
		"networks hold pods": {
			"action: Accept, to: [{networks: [0.0.0.0/0, '::/0']}]",
			snapshot.Rule{Peers: snapshot.Peers{CIDRs: []snapshot.CIDR{{Prefix: netip.MustParsePrefix("0.0.0.0/0")}, {Prefix: netip.MustParsePrefix("::/0")}}, CIDRsMatchPods: true}, Ports: everyPort},
		},
		"nodes and names are neither all pods nor the world": {
			"action: Accept, to: [{nodes: {}}, {domainNames: ['*.example.com']}]", snapshot.Rule{Ports: everyPort},
		},
		"nor is what is not known": {
			"action: Deny, to: [{services: {}}, {namespaces: {sameLabels: [tenant]}}, {pods: {namespaces: {}, podSelector: {sameLabels: [tenant]}}}]",
			snapshot.Rule{Action: snapshot.Deny, Ports: everyPort},
		},
		"a port has a protocol": {
			"action: Accept, to: [{namespaces: {}}], protocols: [{tcp: {destinationPort: {number: 80}}}, {udp: {destinationPort: {range: {start: 53, end: 60}}}}]",
			ports(0, snapshot.PortRange{Protocol: snapshot.TCP, First: 80, Last: 80}, snapshot.PortRange{Protocol: snapshot.UDP, First: 53, Last: 60}),
		},
		"a protocol alone has every port": {
			"action: Accept, to: [{namespaces: {}}], protocols: [{sctp: {}}]",
			ports(0, snapshot.PortRange{Protocol: snapshot.SCTP, First: 1, Last: snapshot.LastPort}),
		},
		"a name is no number": {"action: Accept, to: [{namespaces: {}}], protocols: [{destinationNamedPort: web}]", ports(1)},
		"and was none before": {"action: Accept, to: [{namespaces: {}}], ports: [{namedPort: web}]", ports(1)},
		"older ports are of TCP": {
			"action: Accept, to: [{namespaces: {}}], ports: [{portNumber: {port: 80}}, {portRange: {protocol: UDP, start: 1, end: 2}}]",
			ports(0, snapshot.PortRange{Protocol: snapshot.TCP, First: 80, Last: 80}, snapshot.PortRange{Protocol: snapshot.UDP, First: 1, Last: 2}),
		},
	} {
		t.Run(title, func(t *testing.T) {
			p := clusterPolicy(t, snapshot.ClusterNetworkPolicies, "p", "tier: Admin\npriority: 1\nsubject: {namespaces: {}}\negress: [{"+row.rule+"}]")
			if p.Invalid != "" {
				t.Fatal(p.Invalid)
			}
			same(t, []snapshot.Rule{row.want}, p.Rules[snapshot.DirectionEgress])
		})
	}
}

func TestClusterPolicyRefuses(t *testing.T) {
	const place, subject = "tier: Admin\npriority: 1\n", "subject: {namespaces: {}}\n"
	const denyOut = "egress: [{action: Deny, to: [{namespaces: {}}], "
	for title, row := range map[string]struct {
		spec, want string
		subject    bool // is known all the same
	}{
		"no subject":               {place, "exactly one field", false},
		"two subjects":             {place + "subject: {namespaces: {}, pods: {namespaceSelector: {}, podSelector: {}}}", "exactly one field", false},
		"an unknown subject":       {place + "subject: {services: {}}", "no supported selector", false},
		"networks as a subject":    {place + "subject: {networks: [10.0.0.0/8]}", "no supported selector", false},
		"a selector that is none":  {place + "subject: {namespaces: {matchExpressions: [{key: a, operator: In}]}}", "no values", false},
		"a tier that is none":      {subject + "priority: 1\ntier: Application", `unknown tier "Application"`, true},
		"no priority":              {subject + "tier: Admin", "no priority", true},
		"a priority out of bounds": {subject + "tier: Admin\npriority: 1001", "not between", true},
		"no peers":                 {subject + place + "ingress: [{action: Deny}]", "no peer", true},
		"peers of the other way":   {subject + place + "ingress: [{action: Deny, to: [{namespaces: {}}]}]", "no peer", true},
		"an empty peer":            {subject + place + "ingress: [{action: Deny, from: [{}]}]", "exactly one field", true},
		"an action that is none":   {subject + place + "ingress: [{action: Drop, from: [{namespaces: {}}]}]", `unknown action "Drop"`, true},
		"a network that is none":   {subject + place + "egress: [{action: Deny, to: [{networks: [internet]}]}]", "networks", true},
		"no ports in the list":     {subject + place + denyOut + "protocols: []}]", "ports is empty", true},
		"a port that says nothing": {subject + place + denyOut + "protocols: [{}]}]", "a number, a range or a name", true},
		"a port that is none":      {subject + place + denyOut + "protocols: [{tcp: {destinationPort: {}}}]}]", "0 to 0 is not a range of ports", true},
		"a range that is none":     {subject + place + denyOut + "ports: [{portRange: {start: 9, end: 8}}]}]", "9 to 8 is not a range of ports", true},
		"a protocol that is none":  {subject + place + denyOut + "ports: [{portNumber: {protocol: HTTP, port: 80}}]}]", `unknown protocol "HTTP"`, true},
	} {
		t.Run(title, func(t *testing.T) {
			p := clusterPolicy(t, snapshot.ClusterNetworkPolicies, "p", row.spec)
			if !strings.Contains(p.Invalid, row.want) {
				t.Errorf("want it to be refused for %q, got %q", row.want, p.Invalid)
			}
			if known := len(p.Subject) > 0; known != row.subject {
				t.Errorf("want the subject to be known: %v, got %v", row.subject, p.Subject)
			}
			if len(p.Rules[snapshot.DirectionIngress])+len(p.Rules[snapshot.DirectionEgress]) > 0 {
				t.Errorf("want no rules, got %v", p.Rules)
			}
		})
	}
}

func TestClusterPolicyBaselineIsCalledDefault(t *testing.T) {
	p := clusterPolicy(t, snapshot.BaselineAdminNetworkPolicies, "extra", "subject: {namespaces: {}}")
	if !strings.Contains(p.Invalid, "named default") {
		t.Errorf("want it not to be in force, got %q", p.Invalid)
	}
}

func TestClusterPolicyKindsBearMissingFields(t *testing.T) {
	for _, manifest := range []string{
		"{}", "spec: {}", "spec: {subject: null}", "spec: {subject: {pods: {}}, ingress: [{}]}",
		"spec: {tier: Admin, priority: 1, subject: {namespaces: null}}",
		"spec: {tier: Admin, priority: 1, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: null}]}]}",
		"spec: {tier: Admin, priority: 1, subject: {namespaces: {}}, egress: [{action: Deny, to: [{networks: []}], ports: null}]}",
	} {
		for _, kind := range []snapshot.Kind{
			snapshot.AdminNetworkPolicies, snapshot.BaselineAdminNetworkPolicies,
			snapshot.ClusterNetworkPolicies, snapshot.AWSClusterNetworkPolicies,
		} {
			take(t, kind, manifest)
		}
	}
}
