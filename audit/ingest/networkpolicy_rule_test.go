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
			name:  "a name is counted, since nobody knows its number",
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
