package isolation_test

import (
	"cmp"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// outcome is what becomes of a packet.
type outcome uint8

const (
	undecided outcome = iota
	allowed
	deniedByRule
	deniedAtEnd // of a tier
)

// meets reports whether labels meet a selector.
func meets(s snapshot.Selector, l labels.Set) bool {
	for _, r := range s {
		value, there := l[r.Key]
		switch r.Op {
		case snapshot.In:
			there = there && slices.Contains(r.Values, value)
		case snapshot.NotIn:
			there = !there || !slices.Contains(r.Values, value)
		case snapshot.DoesNotExist:
			there = !there
		}
		if !there {
			return false
		}
	}
	return true
}

// matchesPacket reports whether a rule matches a packet from one end, or to it.
func matchesPacket(r *snapshot.Rule, end *packetEnd, port packetPort) bool {
	onPort := r.Ports.All || slices.ContainsFunc(r.Ports.Ranges, func(s snapshot.PortRange) bool {
		return string(s.Protocol) == string(port.protocol) && s.First <= port.port && port.port <= s.Last
	})
	if r.Narrow || !onPort {
		return false
	}
	if end.addr.IsValid() {
		return r.Peers.Everyone || r.Peers.Internet ||
			slices.ContainsFunc(r.Peers.CIDRs, func(b snapshot.CIDR) bool { return b.Prefix.Contains(end.addr) })
	}
	return r.Peers.Everyone || slices.ContainsFunc(r.Peers.Pods, func(p snapshot.PodPeer) bool {
		return (!p.OwnNamespace || end.namespace == tierNamespace) && meets(p.Namespaces, end.nsLabels) && meets(p.Pods, end.podLabels)
	})
}

// consult asks policies that select a pod about a packet, in the order in which
// they stand in their tiers.
func consult(policies []*snapshot.Policy, d snapshot.Direction, end *packetEnd, port packetPort) outcome {
	for len(policies) > 0 {
		n := slices.IndexFunc(policies, func(p *snapshot.Policy) bool { return p.Tier != policies[0].Tier })
		if n < 0 {
			n = len(policies)
		}
		if o := consultTier(policies[:n], d, end, port); o != undecided {
			return o
		}
		policies = policies[n:]
	}
	return undecided
}

func consultTier(policies []*snapshot.Policy, d snapshot.Direction, end *packetEnd, port packetPort) outcome {
	var inOrder []snapshot.Rule
	isolates := false
	for _, p := range policies {
		inOrder = append(inOrder, p.Denies[d]...)
		isolates = isolates || p.Isolates[d]
	}
	for _, p := range policies {
		inOrder = append(inOrder, p.Rules[d]...)
	}
	for i := range inOrder {
		if !matchesPacket(&inOrder[i], end, port) {
			continue
		}
		switch inOrder[i].Action {
		case snapshot.Allow:
			return allowed
		case snapshot.Deny:
			return deniedByRule
		}
		return undecided // passed to the next tier
	}
	if isolates {
		return deniedAtEnd
	}
	return undecided
}

// inOrder returns the policies as they are consulted.
func (c *tierCluster) inOrder() (list []*snapshot.Policy) {
	for i := range c.Policies {
		list = append(list, &c.Policies[i])
	}
	slices.SortFunc(list, func(a, b *snapshot.Policy) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Order, b.Order))
	})
	return list
}

// tierPods are every pod that the rules drawn here can tell apart.
func tierPods() (list []packetEnd) {
	for _, name := range []string{tierNamespace, unheard} {
		for _, env := range []labels.Set{{}, {"env": "prod"}} {
			for _, pod := range []labels.Set{{}, {"app": "web"}, {"app": unheard}} {
				list = append(list, packetEnd{namespace: name, nsLabels: labels.Merge(env, labels.Set{"kubernetes.io/metadata.name": name}), podLabels: pod})
			}
		}
	}
	return list
}

// tierAddresses are public addresses of each half of IPv4, and of IPv6, which the
// rules drawn here never cut.
func tierAddresses() (list []packetEnd) {
	for _, addr := range []string{"8.8.8.8", "193.0.14.129", "2001:500:9f::42"} {
		list = append(list, packetEnd{addr: netip.MustParseAddr(addr)})
	}
	return list
}

// tierStretches are the stretches of ports that the rules drawn here never cut, by
// their first port.
func tierStretches() []int32 { return []int32{1, 53, 54, 1024, 4096, 4097, 40001} }

// weightOf returns how many ports a stretch has.
func weightOf(i int) int32 {
	if stretches := tierStretches(); i+1 < len(stretches) {
		return stretches[i+1] - stretches[i]
	}
	return 65536 - tierStretches()[i]
}
