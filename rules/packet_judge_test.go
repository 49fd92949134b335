package rules_test

import (
	"fmt"
	"math/big"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
//   - A policy admits the cluster by a port if every pod that there could be, with
//     any labels in a namespace with any name and labels, may use the port. It
//     admits the world by a port if at least 15 of 16 public addresses of IPv4
//     may use it, or as many of IPv6. Which addresses these are may differ from
//     port to port.
//   - Of some policies together the scope is "all" if they admit both by every
//     port of TCP, UDP and SCTP; else "world" if they admit the world so; else
//     "tcp" if they admit both by every port of TCP; else "cluster" if they admit
//     the cluster by every port of the three; else "world" or "cluster" if they
//     admit that by every port of TCP; else none.
//   - Default-deny is present in a direction if every pod that there could be in
//     the namespace is selected by a policy whose scope alone is not "all". What
//     each of these policies lets through besides does not count.
//   - A pod is open by rules in the scope of all policies that select it, if that
//     is one. Where no policy selects it, it is "not-selected" if any policy of
//     the direction has a scope other than "all", else "invalid-policy" if any
//     cannot be in force, else "no-policy".
//   - A workload is as open as the worst of its pods, and one with a pod in the
//     host's network is "host-network" and no more judged.
//   - A direction is wholly open if every pod that there could be is open by rules,
//     or if there are workloads and each is. The scope of the namespace is the
//     widest in which any workload, or every possible pod, is open by rules.
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
func newPacketJudge(policies []*networkingv1.NetworkPolicy, d networkingv1.PolicyType, names []string, pods []packetEnd) *packetJudge {
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
	j.pods = append(everyPod(all, names), pods...)
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

// passes reports whether some policies let a packet pass.
func (j *packetJudge) passes(policies []int, end, port int) bool {
	for _, p := range policies {
		if slices.ContainsFunc(j.rules[p], func(r triedRule) bool { return r.ends[end] && r.ports[port] }) {
			return true
		}
	}
	return false
}

// cluster reports whether some policies admit every pod by a port.
func (j *packetJudge) cluster(policies []int, port int) bool {
	for end := range j.pods {
		if !j.passes(policies, end, port) {
			return false
		}
	}
	return true
}

// world reports whether the policies admit the public addresses of either
// version of IP by a port.
func (j *packetJudge) world(policies []int, port int) bool {
	var passed, whole [2]big.Int
	for i := range j.outside {
		s := &j.outside[i]
		if !s.public {
			continue
		}
		version := 0
		if s.addr.Is6() {
			version = 1
		}
		whole[version].Add(&whole[version], s.size)
		if j.passes(policies, len(j.pods)+i, port) {
			passed[version].Add(&passed[version], s.size)
		}
	}
	enough := func(version int) bool {
		a, b := new(big.Int).Mul(&passed[version], big.NewInt(16)), new(big.Int).Mul(&whole[version], big.NewInt(15))
		return a.Cmp(b) >= 0
	}
	return enough(0) || enough(1)
}

// scope returns how far some policies together open a pod, in the word of the
// report.
func (j *packetJudge) scope(policies []int) string {
	key := fmt.Sprint(policies)
	scope, ok := j.known[key]
	if !ok {
		scope = j.tryScope(policies)
		j.known[key] = scope
	}
	return scope
}

func (j *packetJudge) tryScope(policies []int) string {
	cluster, world := [3]bool{true, true, true}, [3]bool{true, true, true}
	for i, protocol := range packetProtocols() {
		for port := range j.ports {
			if j.ports[port].protocol == protocol {
				cluster[i] = cluster[i] && j.cluster(policies, port)
				world[i] = world[i] && j.world(policies, port)
			}
		}
	}
	every := [3]bool{true, true, true}
	switch {
	case cluster == every && world == every:
		return "all"
	case world == every:
		return "world"
	case cluster[0] && world[0]:
		return "tcp"
	case cluster == every:
		return "cluster"
	case world[0]:
		return "world"
	case cluster[0]:
		return "cluster"
	}
	return ""
}

// selecting returns the policies that select a pod with the given labels.
func (j *packetJudge) selecting(pod labels.Set) (list []int) {
	for i, p := range j.policies {
		if j.selectors.selects(&p.Spec.PodSelector, pod) {
			list = append(list, i)
		}
	}
	return list
}

// everyPodHere returns every pod that the policies can tell apart in their
// namespace.
func (j *packetJudge) everyPodHere() []labels.Set {
	var selectors []*metav1.LabelSelector
	for _, p := range j.policies {
		selectors = append(selectors, &p.Spec.PodSelector)
	}
	return everyLabels(selectors, nil)
}
