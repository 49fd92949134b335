package ingest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	netutils "k8s.io/utils/net"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// NetworkPolicy returns the fact of a NetworkPolicy. One that an API server would have
// rejected is Invalid, with the reason.
func (in *Ingester) NetworkPolicy(o *networkingv1.NetworkPolicy) snapshot.Policy {
	p := snapshot.Policy{
		Meta: in.meta(networkingv1.GroupName, "NetworkPolicy", &o.ObjectMeta),
		Tier: snapshot.TierDefault, Order: snapshot.OrderNetworkPolicy,
		Isolates: policyTypes(&o.Spec),
	}
	pods, err := in.selector(&o.Spec.PodSelector)
	if err != nil {
		p.Invalid = fmt.Sprintf("podSelector: %v", err)
		return p
	}
	p.Subject = snapshot.Subject{{OwnNamespace: true, Pods: pods}}
	for _, r := range o.Spec.Ingress {
		in.allow(&p, snapshot.DirectionIngress, r.From, r.Ports)
	}
	for _, r := range o.Spec.Egress {
		in.allow(&p, snapshot.DirectionEgress, r.To, r.Ports)
	}
	return p
}

// policyTypes returns the directions in which the policy isolates. By default that is
// ingress, and egress if it has egress rules.
func policyTypes(spec *networkingv1.NetworkPolicySpec) [2]bool {
	if len(spec.PolicyTypes) == 0 {
		return [2]bool{snapshot.DirectionIngress: true, snapshot.DirectionEgress: len(spec.Egress) > 0}
	}
	return [2]bool{
		snapshot.DirectionIngress: slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeIngress),
		snapshot.DirectionEgress:  slices.Contains(spec.PolicyTypes, networkingv1.PolicyTypeEgress),
	}
}

// allow adds a rule. By the API, rules have no effect in a direction that the policy does
// not isolate, so those are left out.
func (in *Ingester) allow(p *snapshot.Policy, d snapshot.Direction, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort) {
	if !p.Isolates[d] || p.Invalid != "" {
		return
	}
	a := snapshot.Rule{Action: snapshot.Allow, Ports: portRanges(ports)}
	a.Peers.Everyone = len(peers) == 0
	for i := range peers {
		if err := in.peer(&a.Peers, &peers[i]); err != nil {
			p.Invalid = fmt.Sprintf("%s rule: %v", strings.ToLower(d.String()), err)
			return
		}
	}
	p.Rules[d] = append(p.Rules[d], a)
}

func (in *Ingester) peer(to *snapshot.Peers, from *networkingv1.NetworkPolicyPeer) error {
	if from.IPBlock != nil {
		block, err := ipBlock(from.IPBlock)
		if err != nil {
			return err
		}
		to.CIDRs = append(to.CIDRs, block)
		return nil
	}
	if from.PodSelector == nil && from.NamespaceSelector == nil {
		return fmt.Errorf("a peer has neither an ipBlock nor a selector")
	}
	peer := snapshot.PodPeer{OwnNamespace: from.NamespaceSelector == nil}
	var err error
	if peer.Namespaces, err = in.selector(from.NamespaceSelector); err != nil {
		return fmt.Errorf("namespaceSelector: %w", err)
	}
	if peer.Pods, err = in.selector(from.PodSelector); err != nil {
		return fmt.Errorf("podSelector: %w", err)
	}
	to.Pods = append(to.Pods, peer)
	return nil
}

func ipBlock(b *networkingv1.IPBlock) (snapshot.CIDR, error) {
	prefix, err := parsePrefix(b.CIDR)
	if err != nil {
		return snapshot.CIDR{}, fmt.Errorf("ipBlock: %w", err)
	}
	block := snapshot.CIDR{Prefix: prefix}
	for _, e := range b.Except {
		except, err := parsePrefix(e)
		if err != nil {
			return snapshot.CIDR{}, fmt.Errorf("ipBlock.except: %w", err)
		}
		block.Except = append(block.Except, except)
	}
	return block, nil
}

// parsePrefix parses a CIDR as API servers do. Older ones accepted leading zeros and
// IPv4-mapped IPv6, and the policies that they accepted stay in force.
func parsePrefix(cidr string) (netip.Prefix, error) {
	_, block, err := netutils.ParseCIDRSloppy(cidr)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is not a CIDR", cidr)
	}
	addr, _ := netip.AddrFromSlice(block.IP)
	bits, _ := block.Mask.Size()
	if addr.Is4In6() {
		addr, bits = addr.Unmap(), bits-96
	}
	return netip.PrefixFrom(addr, bits), nil
}

// portRanges returns the ports of a rule. A port without a protocol is TCP; one without a
// number is every port of its protocol.
func portRanges(ports []networkingv1.NetworkPolicyPort) snapshot.Ports {
	out := snapshot.Ports{All: len(ports) == 0}
	for _, p := range ports {
		protocol := snapshot.TCP
		if p.Protocol != nil {
			protocol = snapshot.Protocol(*p.Protocol)
		}
		switch {
		case p.Port == nil:
			out.Ranges = append(out.Ranges, snapshot.PortRange{Protocol: protocol, Last: snapshot.LastPort})
		case p.Port.Type != 0: // a name
			out.Named++
		default:
			r := snapshot.PortRange{Protocol: protocol, First: p.Port.IntVal, Last: p.Port.IntVal}
			if p.EndPort != nil {
				r.Last = *p.EndPort
			}
			out.Ranges = append(out.Ranges, r)
		}
	}
	return out
}
