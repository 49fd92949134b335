package ingest_test

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
		{"a peer that names nothing", from(peer{}), "ingress rule: a peer names nothing"},
		{"a bad peer behind a good one", from(block("10.0.0.0/8"), peer{}), "ingress rule: a peer names nothing"},
		{"a block without length", from(block("10.0.0.1")), `ingress rule: ipBlock: "10.0.0.1" is no CIDR`},
		{"an empty block", from(block("")), `ingress rule: ipBlock: "" is no CIDR`},
		{"a block that is longer than an address", to(block("10.0.0.0/33")), `egress rule: ipBlock: "10.0.0.0/33" is no CIDR`},
		{"an exception that is no block", to(block("0.0.0.0/0", "10.0.0.0/8", "world")), `egress rule: ipBlock.except: "world" is no CIDR`},
		{"of several mistakes the first is told", spec{
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []peer{{}}}, {From: []peer{block("x")}}},
		}, "ingress rule: a peer names nothing"},
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
