package calico_test

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"strings"
)

// This is a plain evaluation of Calico's policies, connection by connection, as
// its documentation tells it. It shares no code with what takes them in or judges
// them.

// packetPod is a pod of a small cluster.
type packetPod struct {
	namespace, name string
	labels          map[string]string
	addr            netip.Addr
}

// packetSelector is a selector as it is written and what it means.
type packetSelector struct {
	text  string
	holds func(*packetPod) bool
}

// packetEnd is what a rule asks of one end of a connection. A nil field asks for
// nothing.
type packetEnd struct {
	selector, notSelector, namespaces *packetSelector
	nets, notNets                     []string
	ports                             []int
}

type packetRule struct {
	action, protocol string
	peer, own        packetEnd
}

type packetPolicy struct {
	name, namespace, tier string // without a namespace it is global
	order                 *float64
	selector, namespaces  *packetSelector
	types                 []string
	rules                 map[string][]packetRule // by Ingress and Egress
}

type packetTier struct {
	order  float64
	passes bool
}

// packet is a connection between a pod that policies select and another end,
// which is a pod or an address outside.
type packet struct {
	direction string
	pod       *packetPod
	other     *packetPod // nil: outside
	addr      netip.Addr // of the other end
	protocol  string
	port      int
}

// holds reports whether an end of a connection is one that a policy of the
// namespace asks for.
func (e *packetEnd) holds(pod *packetPod, addr netip.Addr, namespace string) bool {
	selects := e.selector != nil || e.namespaces != nil
	if selects && pod == nil {
		return false
	}
	if (selects || e.notSelector != nil) && namespace != "" && e.namespaces == nil && (pod == nil || pod.namespace != namespace) {
		return false
	}
	if e.selector != nil && !e.selector.holds(pod) || e.namespaces != nil && !e.namespaces.holds(pod) {
		return false
	}
	if e.notSelector != nil && pod != nil && e.notSelector.holds(pod) {
		return false
	}
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return netip.MustParsePrefix(s).Contains(addr) })
	}
	return (e.nets == nil || in(e.nets)) && !in(e.notNets)
}

// matches reports whether a rule of a policy of the namespace decides on a packet.
func (r *packetRule) matches(p packet, namespace string) bool {
	ports := r.own.ports
	if p.direction == "Egress" {
		ports = r.peer.ports
	}
	return (r.protocol == "" || r.protocol == p.protocol) && (ports == nil || slices.Contains(ports, p.port)) &&
		r.peer.holds(p.other, p.addr, namespace) && r.own.holds(p.pod, p.pod.addr, namespace)
}

func (p *packetPolicy) selects(pod *packetPod) bool {
	return (p.namespace == "" || p.namespace == pod.namespace) && (p.selector == nil || p.selector.holds(pod)) &&
		(p.namespaces == nil || p.namespaces.holds(pod))
}

func (p *packetPolicy) isAbout(direction string) bool {
	if p.types != nil {
		return slices.Contains(p.types, direction)
	}
	if direction == "Egress" {
		return len(p.rules["Egress"]) > 0
	}
	return len(p.rules["Egress"]) == 0 || len(p.rules["Ingress"]) > 0
}

// arrives reports whether the policies let a packet through.
func arrives(p packet, policies []packetPolicy, tiers map[string]packetTier) bool {
	byTier := map[string][]packetPolicy{}
	var names []string
	for _, policy := range policies {
		if policy.selects(p.pod) && policy.isAbout(p.direction) {
			if byTier[policy.tier] == nil {
				names = append(names, policy.tier)
			}
			byTier[policy.tier] = append(byTier[policy.tier], policy)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(tiers[a].order, tiers[b].order), strings.Compare(a, b))
	})
	for _, name := range names {
		slices.SortFunc(byTier[name], func(a, b packetPolicy) int {
			return cmp.Or(cmp.Compare(a.place(), b.place()), strings.Compare(a.name, b.name))
		})
		switch firstAction(p, byTier[name]) {
		case "Allow":
			return true
		case "Deny":
			return false
		case "":
			if !tiers[name].passes {
				return false
			}
		}
	}
	return true
}

func (p *packetPolicy) place() float64 {
	if p.order == nil {
		return math.Inf(1)
	}
	return *p.order
}

// firstAction returns what the first rule does that matches and does not only log.
func firstAction(p packet, policies []packetPolicy) string {
	for _, policy := range policies {
		for _, r := range policy.rules[p.direction] {
			if r.action != "Log" && r.matches(p, policy.namespace) {
				return r.action
			}
		}
	}
	return ""
}
