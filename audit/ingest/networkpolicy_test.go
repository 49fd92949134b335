package ingest_test

import (
	"net/netip"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
