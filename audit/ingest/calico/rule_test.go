package calico_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// rulesOf describes the rules that one rule amounts to, in a policy that selects
// everything.
func rulesOf(t *testing.T, policies []snapshot.Policy) string {
	t.Helper()
	var out []string
	for _, p := range policies {
		if p.Invalid != "" {
			t.Fatal(p.Invalid)
		}
		for _, d := range snapshot.Directions() {
			for _, r := range p.Rules[d] {
				out = append(out, describeRule(r))
			}
		}
	}
	return strings.Join(out, "; ")
}

func TestRuleOfGlobalPolicy(t *testing.T) {
	for _, c := range []struct{ name, rule, want string }{
		{"nothing asked is everyone", "action: Allow", "allow everyone on every port"},
		{"empty fields ask for nothing", "{action: Deny, source: {}, destination: {nets: [], selector: ''}, http: {}}", "deny everyone on every port"},
		{"a pass", "action: Pass", "pass everyone on every port"},
		{"a log decides nothing", "action: Log", ""},

		{"a selector is pods anywhere", "{action: Allow, source: {selector: has(a)}}", "allow pods [a Exists] anywhere on every port"},
		{"all is all pods and no outside", "{action: Allow, source: {selector: all()}}", "allow pods anywhere on every port"},
		{"every namespace", "{action: Allow, source: {namespaceSelector: all()}}", "allow pods anywhere on every port"},
		{"no namespace means no pod", "{action: Allow, source: {namespaceSelector: global()}}", "allow nobody on every port"},
		{"no namespace or one", "{action: Allow, source: {namespaceSelector: global() || has(a)}}", "allow pods in [a Exists] on every port"},
		{
			"both selectors", "{action: Allow, source: {selector: has(a), namespaceSelector: projectcalico.org/name == 'b'}}",
			"allow pods [a Exists] in [kubernetes.io/metadata.name In b] on every port",
		},
		{
			"excluded pods leave the rest and the outside", "{action: Allow, source: {notSelector: has(a)}}",
			"allow the world + pods [a DoesNotExist] anywhere on every port",
		},
		{
			"selected pods less excluded ones", "{action: Allow, source: {selector: has(a), notSelector: b == 'c'}}",
			"allow pods [a Exists & b NotIn c] anywhere on every port",
		},
		{"no pod at all excluded", "{action: Allow, source: {notSelector: '!all()'}}", "allow the world + pods anywhere on every port"},
		{"service accounts by name", "{action: Allow, source: {serviceAccounts: {names: [b, a]}}}", "allow pods [service account In a|b] anywhere on every port"},
		{"service accounts by label", "{action: Allow, source: {serviceAccounts: {selector: a == 'b'}}}", "allow pods [service account label a In b] anywhere on every port"},
		{"every service account", "{action: Allow, source: {serviceAccounts: {selector: all()}}}", "allow pods anywhere on every port"},
		{"empty service accounts ask for nothing", "{action: Allow, source: {serviceAccounts: {}}}", "allow everyone on every port"},
		{"a service", "{action: Allow, source: {services: {name: a, namespace: b}}}", "allow some of nobody on every port"},

		{"nets hold pods, too", "{action: Allow, source: {nets: [10.0.0.0/8, '2001:db8::/32']}}", "allow 10.0.0.0/8 + 2001:db8::/32 on every port"},
		{
			"an address, and a net with bits to spare", "{action: Allow, source: {nets: [10.1.2.3, 10.1.2.3/8, '::1']}}",
			"allow 10.1.2.3/32 + 10.0.0.0/8 + ::1/128 on every port",
		},
		{"excluded nets leave the rest", "{action: Allow, source: {notNets: [10.0.0.0/8]}}", "allow 0.0.0.0/0 but 10.0.0.0/8 on every port"},
		{"excluded nets of both versions", "{action: Allow, source: {notNets: [10.0.0.0/8, 'fd00::/8']}}", "allow 0.0.0.0/0 but 10.0.0.0/8 + ::/0 but fd00::/8 on every port"},
		{"excluded nets of IPv6", "{action: Allow, source: {notNets: ['fd00::/8']}}", "allow 0.0.0.0/0 + ::/0 but fd00::/8 on every port"},
		{
			"nets less excluded ones", "{action: Allow, source: {nets: [10.0.0.0/8, 'fd00::/8'], notNets: [10.1.0.0/16, 'fd01::/16']}}",
			"allow 10.0.0.0/8 but 10.1.0.0/16 + fd00::/8 but fd01::/16 on every port",
		},
		{"one version of IP", "{action: Allow, ipVersion: 6}", "allow ::/0 on every port"},
		{"one version of IP and excluded nets of the other", "{action: Allow, ipVersion: 6, source: {notNets: [10.0.0.0/8]}}", "allow ::/0 on every port"},
		{"nets of the other version", "{action: Allow, ipVersion: 4, source: {nets: ['fd00::/8']}}", "allow nobody on every port"},

		{"selected pods in every net", "{action: Allow, source: {selector: has(a), nets: [0.0.0.0/0]}}", "allow pods [a Exists] anywhere on every port"},
		{
			"selected pods but for addresses that none has", "{action: Allow, source: {selector: has(a), notNets: [169.254.169.254/32, 127.0.0.0/8]}}",
			"allow pods [a Exists] anywhere on every port",
		},
		{"selected pods in some net", "{action: Allow, source: {selector: has(a), nets: [10.0.0.0/8]}}", "allow nobody on every port"},
		{"selected pods but for a net", "{action: Deny, source: {selector: has(a), notNets: [10.0.0.0/8]}}", "deny nobody on every port"},
		{"to let pods in by IPv6 opens them", "{action: Allow, ipVersion: 6, source: {selector: all()}}", "allow pods anywhere on every port"},
		{"to deny pods IPv6 leaves IPv4", "{action: Deny, ipVersion: 6, source: {selector: all()}}", "deny some of nobody on every port"},
		{"to deny pods IPv4 counts", "{action: Deny, ipVersion: 4, source: {selector: all()}}", "deny pods anywhere on every port"},
		{
			"excluded pods and every net", "{action: Allow, source: {notSelector: has(a), nets: [0.0.0.0/0]}}",
			"allow pods [a DoesNotExist] anywhere + 0.0.0.0/0 outside on every port",
		},
		{
			"excluded pods and some net", "{action: Allow, source: {notSelector: has(a), notNets: [8.0.0.0/8]}}",
			"allow 0.0.0.0/0 but 8.0.0.0/8 outside on every port",
		},

		{"a condition of HTTP", "{action: Allow, http: {methods: [GET]}}", "allow some of everyone on every port"},
		{"a path of HTTP", "{action: Allow, http: {paths: [{exact: /a}]}}", "allow some of everyone on every port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rulesOf(t, globalPolicy(t, "ingress:\n- "+c.rule))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRuleOfNamespace(t *testing.T) {
	for _, c := range []struct{ name, rule, want string }{
		{"nothing asked is everyone", "action: Allow", "allow everyone on every port"},
		{"a selector stays in the namespace", "{action: Allow, source: {selector: all()}}", "allow pods in [kubernetes.io/metadata.name In team-a] on every port"},
		{"excluded pods leave the rest of the namespace", "{action: Allow, source: {notSelector: has(a)}}", "allow pods [a DoesNotExist] in [kubernetes.io/metadata.name In team-a] on every port"},
		{"service accounts stay in the namespace", "{action: Allow, source: {serviceAccounts: {selector: all()}}}", "allow pods in [kubernetes.io/metadata.name In team-a] on every port"},
		{"namespaces are any", "{action: Allow, source: {namespaceSelector: has(a)}}", "allow pods in [a Exists] on every port"},
		{"every namespace", "{action: Allow, source: {namespaceSelector: all(), selector: has(a)}}", "allow pods [a Exists] anywhere on every port"},
		{"nets know no namespace", "{action: Allow, source: {nets: [0.0.0.0/0]}}", "allow 0.0.0.0/0 on every port"},
		{
			"nets and excluded pods stay in the namespace", "{action: Allow, source: {notSelector: has(a), nets: [0.0.0.0/0]}}",
			"allow pods [a DoesNotExist] in [kubernetes.io/metadata.name In team-a] on every port",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rulesOf(t, localPolicy(t, "ingress:\n- "+c.rule))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRulePorts(t *testing.T) {
	const all = "TCP 0-65535, UDP 0-65535, SCTP 0-65535"
	for _, c := range []struct{ name, rule, want string }{
		{"a protocol", "{action: Allow, protocol: TCP}", "allow everyone on TCP 0-65535"},
		{"a protocol in small letters", "{action: Allow, protocol: sctp}", "allow everyone on SCTP 0-65535"},
		{"a protocol by number", "{action: Allow, protocol: 17}", "allow everyone on UDP 0-65535"},
		{"a protocol without ports", "{action: Allow, protocol: ICMP, icmp: {type: 8}}", "allow everyone on no port"},
		{"an unusual protocol", "{action: Allow, protocol: 47}", "allow everyone on no port"},
		{"all but a protocol", "{action: Allow, notProtocol: TCP}", "allow everyone on UDP 0-65535, SCTP 0-65535"},
		{"all but ICMP", "{action: Allow, notProtocol: ICMPv6, notICMP: {type: 8}}", "allow everyone on " + all},
		{"ports", "{action: Allow, protocol: TCP, destination: {ports: [80, '443', '8000:8999']}}", "allow everyone on TCP 80-80, TCP 443-443, TCP 8000-8999"},
		{"ports by name", "{action: Allow, protocol: TCP, destination: {ports: [http, 80]}}", "allow everyone on TCP 80-80, 1 named"},
		{"a port by name without a protocol", "{action: Allow, destination: {ports: [http]}}", "allow everyone on 1 named"},
		{"to deny all but some ports leaves them", "{action: Deny, protocol: UDP, destination: {notPorts: [53, '100:200', 65535]}}", "deny everyone on UDP 0-52, UDP 54-99, UDP 201-65534"},
		{"to allow all but a few ports is to allow all", "{action: Allow, protocol: UDP, destination: {notPorts: [53, '100:200', 65535]}}", "allow everyone on UDP 0-65535"},
		{"to allow all but many ports is not", "{action: Allow, protocol: UDP, destination: {notPorts: ['1:10000']}}", "allow everyone on UDP 0-0, UDP 10001-65535"},
		{"ports less others", "{action: Allow, protocol: UDP, destination: {ports: ['1:100'], notPorts: ['1:50', '90:300']}}", "allow everyone on UDP 51-89"},
		{"to deny all but a port by name leaves one", "{action: Deny, destination: {notPorts: [http]}}", "deny some of everyone on " + all},
		{"to allow all but a port by name is to allow all", "{action: Allow, destination: {notPorts: [http]}}", "allow everyone on " + all},
		{"from a port", "{action: Allow, protocol: TCP, source: {ports: [53]}}", "allow some of everyone on TCP 0-65535"},
		{"from a port by name", "{action: Allow, source: {ports: [http]}}", "allow some of everyone on every port"},
		{"to allow the ports that clients come from is to allow them", "{action: Allow, protocol: TCP, source: {ports: ['1024:65535']}}", "allow everyone on TCP 0-65535"},
		{"to deny the ports that clients come from leaves others", "{action: Deny, protocol: TCP, source: {ports: ['1024:65535']}}", "deny some of everyone on TCP 0-65535"},
		{"from all but a low port", "{action: Allow, protocol: TCP, source: {notPorts: [53]}}", "allow everyone on TCP 0-65535"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rulesOf(t, globalPolicy(t, "ingress:\n- "+c.rule))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEgressRule(t *testing.T) {
	for _, c := range []struct{ name, rule, want string }{
		{"the destination is the peer", "{action: Allow, destination: {selector: has(a)}}", "allow pods [a Exists] anywhere on every port"},
		{"its ports are the ports", "{action: Allow, protocol: TCP, destination: {ports: [80]}}", "allow everyone on TCP 80-80"},
		{"domains are some addresses", "{action: Allow, destination: {domains: ['*.example.com']}}", "allow some of nobody on every port"},
		{"domains beside nets add to them", "{action: Allow, destination: {domains: [example.com], nets: [0.0.0.0/0]}}", "allow 0.0.0.0/0 on every port"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := rulesOf(t, globalPolicy(t, "egress:\n- "+c.rule))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("rule (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSelectorTooComplex(t *testing.T) {
	var all []string
	for _, key := range strings.Split("abcdefgh", "") {
		all = append(all, "(has("+key+"1) || has("+key+"2))")
	}
	complex := strings.Join(all, " && ")
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{
			"a policy opens everything that it may and closes nothing", "selector: " + complex + "\ningress: [{action: Deny}, {action: Allow}, {action: Pass}]",
			[]string{"selects pods anywhere", "Ingress allow everyone on every port", "Ingress pass everyone on every port"},
		},
		{
			"a rule lets everyone in that it may", "ingress: [{action: Allow, source: {selector: " + complex + "}}]",
			[]string{"selects pods anywhere", "isolates Ingress", "Ingress allow pods anywhere on every port"},
		},
		{
			"a rule certainly denies no one", "ingress: [{action: Deny, source: {selector: " + complex + "}}]",
			[]string{"selects pods anywhere", "isolates Ingress", "Ingress deny some of pods anywhere on every port"},
		},
		{
			"a rule opens the pods that it may be about", "ingress: [{action: Allow, destination: {selector: " + complex + "}}]",
			[]string{"selects pods anywhere", "isolates Ingress", "Ingress allow everyone on every port"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, describe(globalPolicy(t, c.spec))); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRuleAboutSomeOfItsPods(t *testing.T) {
	for _, c := range []struct {
		name, spec string
		want       []string
	}{
		{"a rule about some pods splits the policy", "ingress: [{action: Allow, destination: {selector: role == 'db'}}, {action: Deny}]", []string{
			"part 0", "selects pods [role NotIn db] anywhere", "isolates Ingress", "Ingress deny everyone on every port",
			"part 1", "selects pods [role In db] anywhere", "isolates Ingress", "Ingress allow everyone on every port", "Ingress deny everyone on every port",
		}},
		{"rules about the same pods split it once", "egress: [{action: Allow, source: {selector: has(a)}}, {action: Pass, source: {selector: has(a)}}]", []string{
			"part 0", "selects pods [a DoesNotExist] anywhere", "isolates Egress",
			"part 1", "selects pods [a Exists] anywhere", "isolates Egress", "Egress allow everyone on every port", "Egress pass everyone on every port",
		}},
		{"rules about different pods split it by both", "ingress: [{action: Allow, destination: {selector: has(a)}}, {action: Deny, destination: {notSelector: has(b)}}]", []string{
			"part 0", "selects pods [a DoesNotExist & b Exists] anywhere", "isolates Ingress",
			"part 1", "selects pods [a Exists & b Exists] anywhere", "isolates Ingress", "Ingress allow everyone on every port",
			"part 2", "selects pods [a DoesNotExist & b DoesNotExist] anywhere", "isolates Ingress", "Ingress deny everyone on every port",
			"part 3", "selects pods [a Exists & b DoesNotExist] anywhere", "isolates Ingress", "Ingress allow everyone on every port", "Ingress deny everyone on every port",
		}},
		{"a rule about the pods that the policy selects anyway", "selector: has(a)\ningress: [{action: Allow, destination: {selector: has(a)}}]", []string{
			"selects pods [a Exists] anywhere", "isolates Ingress", "Ingress allow everyone on every port",
		}},
		{"a rule about other pods than the policy", "selector: has(a)\ningress: [{action: Allow, destination: {selector: '!has(a)'}}]", []string{
			"selects pods [a Exists] anywhere", "isolates Ingress",
		}},
		{"a rule about a namespace", "ingress: [{action: Allow, destination: {namespaceSelector: projectcalico.org/name == 'x'}}]", []string{
			"part 0", "selects pods in [kubernetes.io/metadata.name NotIn x]", "isolates Ingress",
			"part 1", "selects pods in [kubernetes.io/metadata.name In x]", "isolates Ingress", "Ingress allow everyone on every port",
		}},
		{"an allow for a service account is for its pods", "ingress: [{action: Allow, destination: {serviceAccounts: {names: [x]}}}]", []string{
			"part 0", "selects pods [service account NotIn x] anywhere", "isolates Ingress",
			"part 1", "selects pods [service account In x] anywhere", "isolates Ingress", "Ingress allow everyone on every port",
		}},
		{"a deny for service accounts by label is for their pods", "ingress: [{action: Deny, destination: {serviceAccounts: {selector: has(x)}}}]", []string{
			"part 0", "selects pods [service account label x DoesNotExist] anywhere", "isolates Ingress",
			"part 1", "selects pods [service account label x Exists] anywhere", "isolates Ingress", "Ingress deny everyone on every port",
		}},
		{"an allow for a range may be for every pod", "ingress: [{action: Allow, destination: {nets: [10.244.0.0/16]}}]", []string{
			"selects pods anywhere", "isolates Ingress", "Ingress allow everyone on every port",
		}},
		{"a deny for a range is for no pod for certain", "ingress: [{action: Deny, destination: {notNets: [10.244.0.0/16]}}]", []string{
			"selects pods anywhere", "isolates Ingress", "Ingress deny some of everyone on every port",
		}},
		{"a rule for one address is for few pods", "ingress: [{action: Allow, destination: {nets: [10.0.0.1/32]}}]", []string{
			"selects pods anywhere", "isolates Ingress", "Ingress allow some of everyone on every port",
		}},
		{"a rule for every address is for every pod", "ingress: [{action: Deny, destination: {nets: [0.0.0.0/0]}}]", []string{
			"selects pods anywhere", "isolates Ingress", "Ingress deny everyone on every port",
		}},
		{"rules about more groups of pods than are split", "ingress: [{action: Allow, destination: {selector: has(a)}}, {action: Deny, destination: {selector: has(b)}}, " +
			"{action: Deny, destination: {selector: has(c)}}, {action: Deny, destination: {selector: has(d)}}]", []string{
			"selects pods anywhere", "isolates Ingress", "Ingress allow everyone on every port",
			"Ingress deny some of everyone on every port", "Ingress deny some of everyone on every port", "Ingress deny some of everyone on every port",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, describe(globalPolicy(t, c.spec))); diff != "" {
				t.Errorf("policies (-want +got):\n%s", diff)
			}
		})
	}
}
