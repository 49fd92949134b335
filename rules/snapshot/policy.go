package snapshot

import "net/netip"

// Direction is the side of a pod that a policy governs.
type Direction uint8

// The two directions. They index the arrays of a Policy.
const (
	DirectionIngress Direction = iota // Ingress
	DirectionEgress                   // Egress
)

// Directions are both directions, in the order in which they are judged and
// printed.
func Directions() [2]Direction { return [2]Direction{DirectionIngress, DirectionEgress} }

// String returns the direction as NetworkPolicy spells it in policyTypes.
func (d Direction) String() string {
	if d == DirectionEgress {
		return "Egress"
	}
	return "Ingress"
}

// Policy is the fact of a policy for pod traffic: the one form that the objects
// of every engine are turned into. An object that holds several policies makes
// several facts.
//
// For one pod and direction, policies are consulted tier after tier, and within
// a tier by order. The first rule that matches a connection decides: Allow and
// Deny finally, Pass for the rest of the tier. The Denies of all policies of a
// tier come before its Rules. What no rule of a tier matched is denied at its
// end if a policy that selects the pod isolates it there, and goes on to the
// next tier otherwise. What no tier decided is allowed.
type Policy struct {
	Meta
	// Tier and Order are where the policy stands, both from low to high.
	// TierName, where set, names the Tier object that knows more of it. Policies
	// of two names are never in one tier, even where their orders are equal; the
	// tier without one is that of Kubernetes' own policies.
	Tier, Order float64
	TierName    string
	Subject     Subject
	Isolates    [2]bool   // by Direction
	Denies      [2][]Rule // by Direction: Deny rules that no Rules of the tier come before
	Rules       [2][]Rule // by Direction, in order
	// Invalid is why the policy cannot be in force, empty for a valid one. Of one
	// that is not, Isolates says where it was meant to deny anything.
	Invalid string
}

// The tiers that engines agree on. Calico counts the same way and puts its own
// between and behind them.
const (
	TierAdmin    float64 = 1_000
	TierDefault  float64 = 1_000_000 // NetworkPolicy and what stands beside it
	TierBaseline float64 = 10_000_000
)

// OrderNetworkPolicy is where NetworkPolicies stand among the ordered policies
// of their tier.
const OrderNetworkPolicy float64 = 1_000

// Tier is the fact of an object that describes a tier.
type Tier struct {
	Meta
	Order float64
	// Passes is true where a tier denies nothing at its end.
	Passes bool
}

// Action is what becomes of a connection that a rule matches.
type Action uint8

// The actions.
const (
	Allow Action = iota
	Deny
	Pass // to the next tier
)

// Rule decides on connections with some peers on some ports.
type Rule struct {
	Action Action
	Peers  Peers
	Ports  Ports
	// Narrow is true where the rule has further conditions, such as a path of
	// HTTP, so that it never decides on all that its peers and ports say.
	Narrow bool
}

// Subject is the pods that a policy selects: those in any of the parts. No part
// selects nothing.
type Subject []PodPeer

// Peers are the other ends of a connection. They are united: whoever is in one
// of the parts is in.
type Peers struct {
	Everyone bool // no peer is named: pods, nodes, the world
	Internet bool // every address outside the cluster
	Pods     []PodPeer
	CIDRs    []CIDR
	// BlocksHoldPods is true where the engine holds addresses of pods against
	// the blocks, too.
	CIDRsMatchPods bool
}

// PodPeer selects pods by their labels and those of their Namespace.
type PodPeer struct {
	OwnNamespace bool     // only pods of the policy's namespace
	Namespaces   Selector // of any other; empty for all
	Pods         Selector
}

// Block is a range of addresses less some ranges inside it.
type CIDR struct {
	Prefix netip.Prefix
	Except []netip.Prefix
}

// Ports are the ports of a rule. They are united.
type Ports struct {
	All    bool // no port is named: every protocol and port
	Ranges []PortRange
	// Named counts ports given by name. What number a name stands for differs
	// from pod to pod, so they are never taken for a whole range.
	Named int
}

// Protocol is a transport protocol as Kubernetes spells it.
type Protocol string

// The protocols of a NetworkPolicy port.
const (
	TCP  Protocol = "TCP"
	UDP  Protocol = "UDP"
	SCTP Protocol = "SCTP"
)

// LastPort is the highest port there is.
const LastPort = 65535

// PortRange is an inclusive range of ports of one protocol.
type PortRange struct {
	Protocol    Protocol
	First, Last int32
}
