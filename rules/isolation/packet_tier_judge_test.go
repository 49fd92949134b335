package isolation_test

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// tierEffect is what becomes of the packets to a pod, or from it. Its words:
//
//   - A class, all pods there could be or the public addresses, is let through by a
//     port if all of it is, by rules. It is left by a port if nothing decides on some
//     of it. It is denied by a port if it is neither: the rest is denied, whatever
//     is let through.
//   - A class that is let through by all ports but for a few, no more than one in
//     sixteen, which a rule denies to some of it, is let through by all.
//   - A class is left altogether if more than a few ports of TCP or of UDP are left.
//   - A class is denied if all ports of TCP and UDP are.
//   - The scope by rules is that of what is let through, and the scope that of what
//     is let through or left, both in the words of packetJudge.
type tierEffect struct {
	scope, byRules string
	denies         [2]bool // by class: pods, world
	untouched      [2]bool // by class: every TCP port is left
}

// portState is what becomes of a class by one port.
type portState struct{ through, left, deniedByRule bool }

func tierEffectOf(policies []*snapshot.Policy, d snapshot.Direction) (e tierEffect) {
	var rules, all [2][3]bool // whether every port is
	for class, ends := range [2][]packetEnd{tierPods(), tierAddresses()} {
		var leftAltogether bool
		denied := [3]bool{true, true, true}
		e.untouched[class] = true
		for i, protocol := range packetProtocols() {
			var notThrough, notAll, deniedByRule, left int32
			hole := false // neither let through nor denied by a rule
			for k, first := range tierStretches() {
				s := stateOf(policies, d, ends, packetPort{protocol, first}, class == 1)
				weight := weightOf(k)
				if !s.through {
					notThrough += weight
					hole = hole || !s.deniedByRule
				}
				if !s.through && !s.left {
					notAll += weight
				}
				if s.deniedByRule && !s.through {
					deniedByRule += weight
				}
				if s.left {
					left += weight
				}
				denied[i] = denied[i] && !s.through && !s.left
			}
			whole := !hole && fewPorts(deniedByRule)
			rules[class][i] = notThrough == 0 || whole
			all[class][i] = notAll == 0 || whole
			if protocol != "SCTP" {
				leftAltogether = leftAltogether || !fewPorts(left)
			}
			if protocol == "TCP" {
				e.untouched[class] = left == 65535
			}
		}
		if leftAltogether {
			all[class] = [3]bool{true, true, true}
		}
		e.denies[class] = denied[0] && denied[1]
	}
	e.scope, e.byRules = scopeWord(all[0], all[1]), scopeWord(rules[0], rules[1])
	return e
}

func fewPorts(n int32) bool { return float64(n) <= 65535.0/16 }

// stateOf asks about all of a class. Of the world one version of IP is enough to be
// let through.
func stateOf(policies []*snapshot.Policy, d snapshot.Direction, ends []packetEnd, port packetPort, world bool) portState {
	s := portState{through: true}
	var blocked4, blocked6 bool
	for i := range ends {
		switch consult(policies, d, &ends[i], port) {
		case allowed:
			continue
		case undecided:
			s.left = true
		case deniedByRule:
			s.deniedByRule = true
		}
		s.through = false
		blocked4 = blocked4 || ends[i].addr.Is4()
		blocked6 = blocked6 || ends[i].addr.Is6()
	}
	if world && (!blocked4 || !blocked6) {
		return portState{through: true}
	}
	return s
}

// scopeWord returns the scope of what is admitted by every port of TCP, UDP and
// SCTP.
func scopeWord(pods, world [3]bool) string {
	every := [3]bool{true, true, true}
	switch {
	case pods == every && world == every:
		return "all"
	case world == every:
		return "world"
	case pods[0] && world[0]:
		return "tcp"
	case world[0] && pods != every:
		return "world"
	case pods[0]:
		return "cluster"
	}
	return ""
}

// tierJudge knows what each policy of a cluster does by itself in one direction.
type tierJudge struct {
	direction snapshot.Direction
	policies  []*snapshot.Policy
	alone     []tierEffect
}

// newTierJudge judges each policy by itself, together with what policies before it
// in its tier, which select every pod, pass over its head. One that isolates denies
// whatever it does not open wholly and is passed.
func newTierJudge(c *tierCluster, d snapshot.Direction) *tierJudge {
	j := &tierJudge{direction: d}
	var passes []*snapshot.Policy
	for _, p := range c.inOrder() {
		if len(p.Denies[d])+len(p.Rules[d]) == 0 && !p.Isolates[d] {
			continue
		}
		if n := len(j.policies); n > 0 && j.policies[n-1].Tier != p.Tier {
			passes = nil
		}
		e := tierEffectOf(append(slices.Clone(passes), p), d)
		if p.Isolates[d] {
			for class := range e.denies {
				e.denies[class] = e.scope != "all" && !e.untouched[class]
			}
		}
		j.policies, j.alone = append(j.policies, p), append(j.alone, e)
		if len(p.Subject[0].Pods) == 0 {
			only := &snapshot.Policy{Tier: p.Tier, Order: p.Order}
			for _, r := range p.Rules[d] {
				if r.Action == snapshot.Pass {
					only.Rules[d] = append(only.Rules[d], r)
				}
			}
			passes = append(passes, only)
		}
	}
	return j
}
