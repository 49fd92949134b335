package ingest_test

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// policyOf returns the fact of a NetworkPolicy of a spec.
func policyOf(spec networkingv1.NetworkPolicySpec) snapshot.Policy {
	return newIngester().NetworkPolicy(&networkingv1.NetworkPolicy{ObjectMeta: named(), Spec: spec})
}

func fullPolicy() *networkingv1.NetworkPolicy {
	o := &networkingv1.NetworkPolicy{ObjectMeta: fullMeta()}
	o.Spec = networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress, networkingv1.PolicyTypeIngress},
		PodSelector: metav1.LabelSelector{
			MatchLabels:      map[string]string{"app": "web"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "In", Values: []string{"back", "front"}}},
		},
		Ingress: []networkingv1.NetworkPolicyIngressRule{{
			From: []networkingv1.NetworkPolicyPeer{
				{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"role": "client"}}},
				{NamespaceSelector: &metav1.LabelSelector{}},
			},
			Ports: []networkingv1.NetworkPolicyPort{{Port: new(number(443))}},
		}, {}},
		Egress: []networkingv1.NetworkPolicyEgressRule{{
			To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "0.0.0.0/0", Except: []string{"10.0.0.0/8"}}}},
		}},
	}
	return o
}

func TestNetworkPolicyWithEverything(t *testing.T) {
	same(t, snapshot.Policy{
		Meta: wantMeta("networking.k8s.io", "NetworkPolicy"),
		Tier: snapshot.TierDefault, Order: snapshot.OrderNetworkPolicy,
		Subject: ownPods(snapshot.Selector{
			{Key: "app", Op: snapshot.In, Values: []string{"web"}}, {Key: "tier", Op: snapshot.In, Values: []string{"back", "front"}},
		}),
		Isolates: [2]bool{true, true},
		Rules: [2][]snapshot.Rule{
			snapshot.DirectionIngress: {{
				Peers: snapshot.Peers{Pods: []snapshot.PodPeer{
					{OwnNamespace: true, Pods: snapshot.Selector{{Key: "role", Op: snapshot.In, Values: []string{"client"}}}}, {},
				}},
				Ports: snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.TCP, First: 443, Last: 443}}},
			}, {
				Peers: snapshot.Peers{Everyone: true},
				Ports: snapshot.Ports{All: true},
			}},
			snapshot.DirectionEgress: {{
				Peers: snapshot.Peers{CIDRs: []snapshot.CIDR{{
					Prefix: netip.MustParsePrefix("0.0.0.0/0"), Except: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
				}}},
				Ports: snapshot.Ports{All: true},
			}},
		},
	}, newIngester().NetworkPolicy(fullPolicy()))
}

func TestNetworkPolicyWithNothingButAName(t *testing.T) {
	same(t, snapshot.Policy{
		Meta: bareMeta("networking.k8s.io", "NetworkPolicy"),
		Tier: snapshot.TierDefault, Order: snapshot.OrderNetworkPolicy,
		Subject:  ownPods(nil),
		Isolates: [2]bool{snapshot.DirectionIngress: true},
	}, policyOf(networkingv1.NetworkPolicySpec{}))
}

func TestNetworkPolicyDirections(t *testing.T) {
	in, out := networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress
	ingress, egress := []networkingv1.NetworkPolicyIngressRule{{}}, []networkingv1.NetworkPolicyEgressRule{{}}
	everyone := []snapshot.Rule{{Peers: snapshot.Peers{Everyone: true}, Ports: snapshot.Ports{All: true}}}
	for _, c := range []struct {
		name     string
		spec     networkingv1.NetworkPolicySpec
		isolates [2]bool
		allows   [2][]snapshot.Rule
	}{
		{
			name:     "without types and rules it is of ingress",
			isolates: [2]bool{true, false},
		}, {
			name:     "without types but with egress rules it is of both",
			spec:     networkingv1.NetworkPolicySpec{Egress: egress},
			isolates: [2]bool{true, true},
			allows:   [2][]snapshot.Rule{snapshot.DirectionEgress: everyone},
		}, {
			name:     "without types an empty list of egress rules is as good as none",
			spec:     networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{}},
			isolates: [2]bool{true, false},
		}, {
			name:     "type Ingress alone isolates inward, and egress rules have no effect",
			spec:     networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{in}, Ingress: ingress, Egress: egress},
			isolates: [2]bool{true, false},
			allows:   [2][]snapshot.Rule{snapshot.DirectionIngress: everyone},
		}, {
			name:     "type Egress alone isolates outward, and ingress rules have no effect",
			spec:     networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{out}, Ingress: ingress, Egress: egress},
			isolates: [2]bool{false, true},
			allows:   [2][]snapshot.Rule{snapshot.DirectionEgress: everyone},
		}, {
			name:     "both types without rules deny both",
			spec:     networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{out, in}},
			isolates: [2]bool{true, true},
		}, {
			name: "a type in small letters is none",
			spec: networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{"ingress", "egress"}, Ingress: ingress},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := policyOf(c.spec)
			same(t, c.isolates, got.Isolates)
			same(t, c.allows, got.Rules)
			same(t, "", got.Invalid)
		})
	}
}

func TestNetworkPolicySelector(t *testing.T) {
	for _, c := range []struct {
		name     string
		selector metav1.LabelSelector
		want     snapshot.Selector
	}{
		{
			name: "an empty selector has no requirement",
		}, {
			name:     "labels that must match are sorted by key",
			selector: metav1.LabelSelector{MatchLabels: map[string]string{"c": "3", "a": "1", "b": "2", "d": ""}},
			want: snapshot.Selector{
				{Key: "a", Op: snapshot.In, Values: []string{"1"}},
				{Key: "b", Op: snapshot.In, Values: []string{"2"}},
				{Key: "c", Op: snapshot.In, Values: []string{"3"}},
				{Key: "d", Op: snapshot.In, Values: []string{""}},
			},
		}, {
			name: "expressions of every operator stand beside labels, with their values sorted",
			selector: metav1.LabelSelector{
				MatchLabels: map[string]string{"b": "1"},
				MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: "d", Operator: metav1.LabelSelectorOpDoesNotExist},
					{Key: "c", Operator: metav1.LabelSelectorOpExists, Values: []string{}},
					{Key: "b", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"z", "y"}},
					{Key: "a", Operator: metav1.LabelSelectorOpIn, Values: []string{"2", "1"}},
				},
			},
			want: snapshot.Selector{
				{Key: "a", Op: snapshot.In, Values: []string{"1", "2"}},
				{Key: "b", Op: snapshot.In, Values: []string{"1"}},
				{Key: "b", Op: snapshot.NotIn, Values: []string{"y", "z"}},
				{Key: "c", Op: snapshot.Exists},
				{Key: "d", Op: snapshot.DoesNotExist},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, ownPods(c.want), policyOf(networkingv1.NetworkPolicySpec{PodSelector: c.selector}).Subject)
		})
	}
}

// ownPods is the subject that selects pods of the policy's own namespace.
func ownPods(pods snapshot.Selector) snapshot.Subject {
	return snapshot.Subject{{OwnNamespace: true, Pods: pods}}
}

func number(n int32) intstr.IntOrString { return intstr.FromInt32(n) }

// allowOf returns what a policy with one ingress rule lets through.
func allowOf(t *testing.T, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) snapshot.Rule {
	t.Helper()
	p := policyOf(networkingv1.NetworkPolicySpec{
		Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peers, Ports: ports}},
	})
	if p.Invalid != "" || len(p.Rules[snapshot.DirectionIngress]) != 1 {
		t.Fatalf("invalid: %q, %d rules", p.Invalid, len(p.Rules[snapshot.DirectionIngress]))
	}
	return p.Rules[snapshot.DirectionIngress][0]
}

func TestNetworkPolicyPorts(t *testing.T) {
	type port = networkingv1.NetworkPolicyPort
	for _, c := range []struct {
		name  string
		ports []port
		want  snapshot.Ports
	}{
		{
			name: "no ports are every port of every protocol",
			want: snapshot.Ports{All: true},
		}, {
			name:  "an empty list of ports is no list",
			ports: []port{},
			want:  snapshot.Ports{All: true},
		}, {
			name:  "a port without protocol is of TCP",
			ports: []port{{Port: new(number(443))}},
			want:  snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.TCP, First: 443, Last: 443}}},
		}, {
			name:  "a protocol without port is all of its ports",
			ports: []port{{Protocol: new(corev1.ProtocolUDP)}},
			want:  snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.UDP, First: 0, Last: 65535}}},
		}, {
			name:  "neither protocol nor port is all of TCP",
			ports: []port{{}},
			want:  snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.TCP, First: 0, Last: 65535}}},
		}, {
			name:  "an end makes a range",
			ports: []port{{Protocol: new(corev1.ProtocolSCTP), Port: new(number(1)), EndPort: new(int32(65535))}},
			want:  snapshot.Ports{Ranges: []snapshot.PortRange{{Protocol: snapshot.SCTP, First: 1, Last: 65535}}},
		}, {
			name:  "a name is counted, because its number is unknown",
			ports: []port{{Port: new(intstr.FromString("http"))}, {Port: new(intstr.FromString("dns")), Protocol: new(corev1.ProtocolUDP)}},
			want:  snapshot.Ports{Named: 2},
		}, {
			name:  "a number in quotes is a name",
			ports: []port{{Port: new(intstr.FromString("443"))}},
			want:  snapshot.Ports{Named: 1},
		}, {
			name:  "numbers and names stand side by side",
			ports: []port{{Port: new(intstr.FromString("http"))}, {Port: new(number(53)), Protocol: new(corev1.ProtocolUDP)}, {Port: new(number(80))}},
			want: snapshot.Ports{Named: 1, Ranges: []snapshot.PortRange{
				{Protocol: snapshot.UDP, First: 53, Last: 53}, {Protocol: snapshot.TCP, First: 80, Last: 80},
			}},
		},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, c.want, allowOf(t, nil, c.ports).Ports) })
	}
}

func TestNetworkPolicyPeers(t *testing.T) {
	type peer = networkingv1.NetworkPolicyPeer
	app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	wantApp := snapshot.Selector{{Key: "app", Op: snapshot.In, Values: []string{"web"}}}
	block := func(cidr string, except ...string) peer {
		return peer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
	}
	wantBlock := func(cidr string, except ...string) snapshot.Peers {
		b := snapshot.CIDR{Prefix: netip.MustParsePrefix(cidr)}
		for _, e := range except {
			b.Except = append(b.Except, netip.MustParsePrefix(e))
		}
		return snapshot.Peers{CIDRs: []snapshot.CIDR{b}}
	}
	for _, c := range []struct {
		name  string
		peers []peer
		want  snapshot.Peers
	}{
		{"no peers are everyone", nil, snapshot.Peers{Everyone: true}},
		{"an empty list of peers is no list", []peer{}, snapshot.Peers{Everyone: true}},
		{
			"a pod selector alone stays in the policy's namespace",
			[]peer{{PodSelector: app}},
			snapshot.Peers{Pods: []snapshot.PodPeer{{OwnNamespace: true, Pods: wantApp}}},
		},
		{
			"an empty pod selector is every pod of the namespace",
			[]peer{{PodSelector: &metav1.LabelSelector{}}},
			snapshot.Peers{Pods: []snapshot.PodPeer{{OwnNamespace: true}}},
		},
		{
			"a namespace selector alone is every pod there",
			[]peer{{NamespaceSelector: app}},
			snapshot.Peers{Pods: []snapshot.PodPeer{{Namespaces: wantApp}}},
		},
		{
			"an empty namespace selector is every pod of the cluster",
			[]peer{{NamespaceSelector: &metav1.LabelSelector{}}},
			snapshot.Peers{Pods: []snapshot.PodPeer{{}}},
		},
		{
			"both selectors of one peer must match",
			[]peer{{NamespaceSelector: app, PodSelector: app}},
			snapshot.Peers{Pods: []snapshot.PodPeer{{Namespaces: wantApp, Pods: wantApp}}},
		},
		{
			"selectors of two peers are two peers",
			[]peer{{NamespaceSelector: app}, {PodSelector: app}},
			snapshot.Peers{Pods: []snapshot.PodPeer{{Namespaces: wantApp}, {OwnNamespace: true, Pods: wantApp}}},
		},
		{
			"a block has its exceptions",
			[]peer{block("0.0.0.0/0", "10.0.0.0/8", "192.168.0.0/16")},
			wantBlock("0.0.0.0/0", "10.0.0.0/8", "192.168.0.0/16"),
		},
		{"a block of IPv6", []peer{block("::/0", "fd00::/8")}, wantBlock("::/0", "fd00::/8")},
		{"bits behind the length of a prefix do not count", []peer{block("10.1.2.3/8", "10.9.9.9/16")}, wantBlock("10.0.0.0/8", "10.9.0.0/16")},
		// Older API servers admitted these, and such a policy stays in force.
		{"leading zeros of a block do not count", []peer{block("000.0.0.0/0", "010.0.0.0/08")}, wantBlock("0.0.0.0/0", "10.0.0.0/8")},
		{"a block of IPv4 may be written as IPv6", []peer{block("::ffff:0.0.0.0/96", "::ffff:10.0.0.0/104")}, wantBlock("0.0.0.0/0", "10.0.0.0/8")},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, c.want, allowOf(t, c.peers, nil).Peers) })
	}
}

func expression(key string, op metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func TestNetworkPolicyThatCannotBeInForceSaysWhy(t *testing.T) {
	type (
		spec = networkingv1.NetworkPolicySpec
		peer = networkingv1.NetworkPolicyPeer
	)
	from := func(peers ...peer) spec {
		return spec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peers}}}
	}
	to := func(peers ...peer) spec {
		return spec{Egress: []networkingv1.NetworkPolicyEgressRule{{}, {To: peers}}}
	}
	block := func(cidr string, except ...string) peer {
		return peer{IPBlock: &networkingv1.IPBlock{CIDR: cidr, Except: except}}
	}
	for _, c := range []struct {
		name string
		spec spec
		want string
	}{
		{"In needs values", spec{PodSelector: *expression("app", "In")}, "podSelector: app In has no values"},
		{"NotIn needs values", spec{PodSelector: *expression("app", "NotIn")}, "podSelector: app NotIn has no values"},
		{"Exists takes none", spec{PodSelector: *expression("app", "Exists", "web")}, "podSelector: app Exists has values"},
		{"DoesNotExist takes none", spec{PodSelector: *expression("app", "DoesNotExist", "web")}, "podSelector: app DoesNotExist has values"},
		{"an operator that there is not", spec{PodSelector: *expression("app", "Equals", "web")}, `podSelector: app has the unknown operator "Equals"`},
		{"no operator", spec{PodSelector: *expression("app", "")}, `podSelector: app has the unknown operator ""`},
		{"a bad selector of pods in a peer", from(peer{PodSelector: expression("app", "In")}), "ingress rule: podSelector: app In has no values"},
		{"a bad selector of Namespaces in a peer", to(peer{NamespaceSelector: expression("team", "In")}), "egress rule: namespaceSelector: team In has no values"},
		{"a peer that names nothing", from(peer{}), "ingress rule: a peer has neither an ipBlock nor a selector"},
		{"a bad peer behind a good one", from(block("10.0.0.0/8"), peer{}), "ingress rule: a peer has neither an ipBlock nor a selector"},
		{"a block without length", from(block("10.0.0.1")), `ingress rule: ipBlock: "10.0.0.1" is not a CIDR`},
		{"an empty block", from(block("")), `ingress rule: ipBlock: "" is not a CIDR`},
		{"a block that is longer than an address", to(block("10.0.0.0/33")), `egress rule: ipBlock: "10.0.0.0/33" is not a CIDR`},
		{"an exception that is no block", to(block("0.0.0.0/0", "10.0.0.0/8", "world")), `egress rule: ipBlock.except: "world" is not a CIDR`},
		{"of several mistakes the first is told", spec{
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []peer{{}}}, {From: []peer{block("x")}}},
		}, "ingress rule: a peer has neither an ipBlock nor a selector"},
	} {
		t.Run(c.name, func(t *testing.T) { same(t, c.want, policyOf(c.spec).Invalid) })
	}
}

func TestNetworkPolicyIsNotSpoiledByARuleWithoutEffect(t *testing.T) {
	p := policyOf(networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
		Egress:      []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{}}}},
	})
	same(t, "", p.Invalid)
	same(t, [2]bool{true, false}, p.Isolates)
}
