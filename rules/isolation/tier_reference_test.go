package isolation_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// tierEffect is what becomes of the packets to a pod, or from it. Its words:
//
//   - A class, all pods there could be or the public addresses, is let through by a
//     port if all of it is, by rules; of the pods those outside the own namespace. It
//     is left by a port if nothing decides on some
//     of it. It is denied by a port if it is neither: the rest is denied, whatever
//     is let through.
//   - A class that is let through by all ports but for a few, no more than one in
//     sixteen, is let through by all.
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
type portState struct{ through, left bool }

func tierEffectOf(policies []*snapshot.Policy, d snapshot.Direction) (e tierEffect) {
	var rules, all [2][3]bool // whether every port is
	for class, ends := range [2][]packetEnd{tierPods(), tierAddresses()} {
		var leftAltogether bool
		denied := [3]bool{true, true, true}
		e.untouched[class] = true
		for i, protocol := range packetProtocols() {
			var notThrough, notAll, left int32
			for k, first := range tierStretches() {
				s := stateOf(policies, d, ends, packetPort{protocol, first}, class == 1)
				weight := weightOf(k)
				if !s.through {
					notThrough += weight
				}
				if !s.through && !s.left {
					notAll += weight
				}
				if s.left {
					left += weight
				}
				denied[i] = denied[i] && !s.through && !s.left
			}
			rules[class][i], all[class][i] = fewPorts(notThrough), fewPorts(notAll)
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
		}
		s.through = s.through && ends[i].namespace == tierNamespace
		blocked4 = blocked4 || ends[i].addr.Is4()
		blocked6 = blocked6 || ends[i].addr.Is6()
	}
	if s.through || world && (!blocked4 || !blocked6) {
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

// tierSubjects are every pod that the subjects drawn here can tell apart.
func tierSubjects() (list []labels.Set) {
	for _, account := range []string{"web", unheard} {
		for _, pod := range []labels.Set{{}, {"app": "web"}, {"app": unheard}} {
			list = append(list, labels.Merge(pod, labels.Set{snapshot.ServiceAccountKey: account}))
		}
	}
	return list
}

// side judges the direction for some pods.
func (j *tierJudge) side(pods []map[string]string) packetSide {
	var reasons []string
	for _, pod := range pods {
		reasons = append(reasons, j.reason(pod))
	}
	var policies []*snapshot.Policy
	deny := [2]bool{true, true}
	for _, pod := range tierSubjects() {
		var denied [2]bool
		for i, p := range j.policies {
			for class := range denied {
				denied[class] = denied[class] || meets(p.Subject[0].Pods, pod) && j.alone[i].denies[class]
			}
		}
		deny = [2]bool{deny[0] && denied[0], deny[1] && denied[1]}
	}
	for _, p := range j.policies {
		if len(p.Subject[0].Pods) == 0 {
			policies = append(policies, p)
		}
	}
	word := rules.Missing
	switch deny {
	case [2]bool{true, true}:
		word = rules.Present
	case [2]bool{true, false}:
		word = rules.Partial
	}
	return newPacketSide(word, tierEffectOf(policies, j.direction).byRules, reasons, len(reasons))
}

// reason says why a pod is open, if it is. Where rules do not open it as far as it
// is open, it is "world-not-denied" or "allow-cluster" if it is open so far. Else, if
// a policy that denies anything selects it, it is as open as rules make it, or else
// as it is, for what denies it is passed by. Else it is open for want of a policy.
func (j *tierJudge) reason(pod labels.Set) string {
	var policies []*snapshot.Policy
	guarded, untouched := false, "no-policy"
	for i, p := range j.policies {
		denies := j.alone[i].denies[0] || j.alone[i].denies[1]
		if denies {
			untouched = "not-selected"
		}
		if meets(p.Subject[0].Pods, pod) {
			policies = append(policies, p)
			guarded = guarded || denies
		}
	}
	e := tierEffectOf(policies, j.direction)
	switch {
	case e.scope == e.byRules:
		return allowReason(e.scope)
	case e.scope == "world":
		return "world-not-denied"
	case e.scope == "cluster":
		return allowReason("cluster")
	case guarded && e.byRules != "":
		return allowReason(e.byRules)
	case guarded:
		return allowReason(e.scope)
	}
	return untouched
}

// byPackets returns what packets make of the cluster, in the lines of
// isolationWords.
func (c tierCluster) byPackets() []string {
	c = c.withSets()
	var names []string
	for i := range c.Pods {
		names = append(names, fmt.Sprintf("Pod/w%d", i))
	}
	var lines []string
	var sides [2]packetSide
	for i, d := range snapshot.Directions() {
		sides[i] = newTierJudge(&c, d).side(c.Pods)
		if verdict := sides[i].verdict(); verdict != "" && len(c.Pods) > 0 {
			lines = append(lines, findingWord(tierNamespace, d.String(), verdict))
		}
	}
	lines = append(lines, sideWords(tierNamespace, names, sides[0], sides[1])...)
	slices.Sort(lines)
	return lines
}
