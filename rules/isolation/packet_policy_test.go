package isolation_test

import (
	"net/netip"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// packetEnd is the other end of a connection: a pod, or an address outside the
// cluster.
type packetEnd struct {
	namespace string
	nsLabels  labels.Set
	podLabels labels.Set
	addr      netip.Addr // of what is outside; not valid for a pod
}

// packetRule is an ingress or egress rule: both have the same two fields.
type packetRule struct {
	peers []networkingv1.NetworkPolicyPeer
	ports []networkingv1.NetworkPolicyPort
}

// packetRules returns the rules of a policy in one direction.
func packetRules(p *networkingv1.NetworkPolicy, d networkingv1.PolicyType) (list []packetRule) {
	if d == networkingv1.PolicyTypeEgress {
		for _, r := range p.Spec.Egress {
			list = append(list, packetRule{r.To, r.Ports})
		}
		return list
	}
	for _, r := range p.Spec.Ingress {
		list = append(list, packetRule{r.From, r.Ports})
	}
	return list
}

// packetIsolates reports whether pods that the policy selects are isolated in a
// direction. "If this field is not specified, it will default based on the
// existence of ingress or egress rules; policies that contain an egress section
// are assumed to affect egress, and all policies are assumed to affect ingress."
func packetIsolates(p *networkingv1.NetworkPolicy, d networkingv1.PolicyType) bool {
	if len(p.Spec.PolicyTypes) > 0 {
		return slices.Contains(p.Spec.PolicyTypes, d)
	}
	return d == networkingv1.PolicyTypeIngress || len(p.Spec.Egress) > 0
}

// packetSelectors are label selectors as the API's own library reads them, kept
// since to read one takes longer than to ask it.
type packetSelectors map[*metav1.LabelSelector]labels.Selector

// selects reports whether a label selector matches. The empty one matches
// everything; whether a null one does depends on where it stands.
func (known packetSelectors) selects(s *metav1.LabelSelector, l labels.Set) bool {
	selector, ok := known[s]
	if !ok {
		var err error
		if selector, err = metav1.LabelSelectorAsSelector(s); err != nil {
			panic(err) // only policies in force come here
		}
		known[s] = selector
	}
	return selector.Matches(l)
}

// matchesEnd reports whether a peer of a rule is met. An ipBlock is taken for
// what it is written for, the addresses outside; that some network plugins hold
// it against pods, too, is not promised.
func (known packetSelectors) matchesEnd(policy *networkingv1.NetworkPolicy, p *networkingv1.NetworkPolicyPeer, end *packetEnd) bool {
	switch {
	case p.IPBlock != nil:
		in := func(cidr string) bool { return netip.MustParsePrefix(cidr).Contains(end.addr) }
		return end.addr.IsValid() && in(p.IPBlock.CIDR) && !slices.ContainsFunc(p.IPBlock.Except, in)
	case end.addr.IsValid():
		return false
	case p.NamespaceSelector == nil:
		return end.namespace == policy.Namespace && known.selects(p.PodSelector, end.podLabels)
	}
	return known.selects(p.NamespaceSelector, end.nsLabels) && (p.PodSelector == nil || known.selects(p.PodSelector, end.podLabels))
}

// matchesPort reports whether a port of a rule is met. A name stands for the
// number of a container's port. None of the pods here names any, and no name can
// stand for every number.
func matchesPort(p *networkingv1.NetworkPolicyPort, packet packetPort) bool {
	protocol := "TCP"
	if p.Protocol != nil {
		protocol = string(*p.Protocol)
	}
	switch {
	case protocol != string(packet.protocol):
		return false
	case p.Port == nil:
		return true
	case p.Port.Type == intstr.String:
		return false
	case p.EndPort != nil:
		return p.Port.IntVal <= packet.port && packet.port <= *p.EndPort
	}
	return p.Port.IntVal == packet.port
}

// inForce reports whether an API server would have admitted the policy. What is
// wrong with rules of a direction that the policy does not isolate changes
// nothing.
func inForce(p *networkingv1.NetworkPolicy) bool {
	valid := func(s *metav1.LabelSelector) bool {
		_, err := metav1.LabelSelectorAsSelector(s)
		return err == nil
	}
	if !valid(&p.Spec.PodSelector) {
		return false
	}
	for _, d := range packetDirections() {
		if !packetIsolates(p, d) {
			continue
		}
		for _, r := range packetRules(p, d) {
			for _, peer := range r.peers {
				none := peer.IPBlock == nil && peer.PodSelector == nil && peer.NamespaceSelector == nil
				if none || !valid(peer.PodSelector) || !valid(peer.NamespaceSelector) || peer.IPBlock != nil && peer.IPBlock.CIDR == "nowhere" {
					return false
				}
			}
		}
	}
	return true
}
