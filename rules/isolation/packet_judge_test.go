package isolation_test

import (
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
)

// packetJudge says for the pods of one namespace which packets pass in one
// direction. It knows no sets of ports, no unions of blocks and no reasoning about
// selectors: it tries every packet that could make a difference.
//
// By the API a pod is isolated in a direction if a policy of that direction
// selects it. An isolated pod takes what some rule of some policy that selects it
// allows; one that is not isolated takes everything. The words of the verdicts,
// in packets:
//
//   - Some policies admit the cluster by a port if every pod that there could be,
//     with any labels in a namespace with any name and labels, may use the port.
//     They admit the world by a port if 15 of 16 public addresses of IPv4, or as
//     many of IPv6, may use it. Which these are may differ from port to port, and
//     so may the version of IP.
//   - Their scope is "all" if they admit both by every port of TCP, UDP and SCTP;
//     else "world" if they admit the world so; else "tcp" if they admit both by
//     every port of TCP; else "cluster" if they admit the cluster by every port of
//     the three; else "world", or else "cluster", if they admit that by every port
//     of TCP; else none. The widest is "all", then "world", "cluster", "tcp".
//   - Default-deny is present in a direction if every pod that there could be in
//     the namespace is selected by a policy whose scope alone is not "all".
//   - A pod is open by rules in the scope of the policies that select it. Where
//     none does, it is "not-selected" if any policy of the direction has another
//     scope than "all", else "invalid-policy" if any cannot be in force, else
//     "no-policy".
//   - A workload is as open as the worst of its pods. One with a pod in the host's
//     network is "host-network" and no more judged.
//   - A direction is wholly open if the policies that each select every pod that
//     there could be have a scope together, or if there are workloads and all of
//     them are open by rules. It is partly open if some are. The scope of a
//     namespace is the widest of these.
//   - A finding is made where default-deny is not present, or where the direction
//     is open in any scope; it needs a workload that is not in the host's network,
//     and a namespace that is not being deleted.
type packetJudge struct {
	policies  []*networkingv1.NetworkPolicy // of the direction, and in force
	invalid   int                           // of the direction, and not in force
	rules     [][]triedRule                 // of each policy
	pods      []packetEnd
	outside   []stretch
	ports     []packetPort
	known     map[string]string // scope by policies
	selectors packetSelectors
}

// triedRule says of which ends and ports a rule is met; the ends are the pods and
// behind them what is outside.
type triedRule struct{ ends, ports []bool }

// newPacketJudge tries all rules of some policies of one namespace. The pods of
// the cluster are given beside those that there could be.
func newPacketJudge(policies []*networkingv1.NetworkPolicy, d networkingv1.PolicyType, pods []packetEnd) *packetJudge {
	j := &packetJudge{known: map[string]string{}, selectors: packetSelectors{}}
	var all []packetRule
	for _, p := range policies {
		switch {
		case !packetIsolates(p, d):
		case !inForce(p):
			j.invalid++
		default:
			j.policies = append(j.policies, p)
			all = append(all, packetRules(p, d)...)
		}
	}
	j.pods = append(everyPod(all), pods...)
	j.outside = everyAddress(all)
	for _, protocol := range packetProtocols() {
		for _, port := range everyPort(all) {
			j.ports = append(j.ports, packetPort{protocol, port})
		}
	}
	for _, p := range j.policies {
		var tried []triedRule
		for _, r := range packetRules(p, d) {
			tried = append(tried, j.try(p, r))
		}
		j.rules = append(j.rules, tried)
	}
	return j
}

// try holds a rule against every end and every port. Where it names none, it is
// met by all.
func (j *packetJudge) try(p *networkingv1.NetworkPolicy, r packetRule) (t triedRule) {
	end := func(e *packetEnd) {
		met := func(peer networkingv1.NetworkPolicyPeer) bool { return j.selectors.matchesEnd(p, &peer, e) }
		t.ends = append(t.ends, len(r.peers) == 0 || slices.ContainsFunc(r.peers, met))
	}
	for i := range j.pods {
		end(&j.pods[i])
	}
	for i := range j.outside {
		end(&j.outside[i].packetEnd)
	}
	for _, port := range j.ports {
		met := func(p networkingv1.NetworkPolicyPort) bool { return matchesPort(&p, port) }
		t.ports = append(t.ports, len(r.ports) == 0 || slices.ContainsFunc(r.ports, met))
	}
	return t
}
