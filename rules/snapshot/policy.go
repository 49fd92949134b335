package snapshot

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

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

// place gives each policy that names a tier the tier's order. Where the tier
// denies nothing at its end, its policies isolate nothing. Tiers have one name in
// the group that serves them and in the one that stores them.
func placeTiers(policies []Policy, tiers []Tier) {
	known := map[string]*Tier{}
	for i := range tiers {
		known[tiers[i].Name] = &tiers[i]
	}
	for i := range policies {
		p := &policies[i]
		tier := known[p.TierName]
		if p.TierName == "" || tier == nil {
			continue
		}
		p.Tier = tier.Order
		if tier.Passes {
			p.Isolates = [2]bool{}
		}
	}
}

// Enforcement is the fact of an object that tells the network plugin to enforce
// no policy, of whatever kind: every connection is let through. One that leaves
// things as they are makes no fact.
type Enforcement struct {
	Meta
	// Off is the setting that switches enforcement off, as the object spells
	// it, such as "enable-policy: never".
	Off string
}

// Unmodelled is the fact that there are policies of a kind that nothing here
// understands, or may be.
type Unsupported struct {
	Kind Kind
	// Namespace is where they are; empty where they may be about any.
	Namespace string
}

func compareUnmodelled(a, b Unsupported) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(string(a.Kind), string(b.Kind)))
}

// dropTwins drops policies and tiers of Calico that are there twice.
//
// Calico serves its kinds in one group and stores them in another. Where both can
// be read each object is in both; manifests may hold either form. Of one object the
// form that is served is kept: what is stored may be a remainder, since newer
// releases store in the group that they serve. Older releases list Kubernetes' own
// policies among those of Calico, too.
func dropDuplicates(f *Facts) {
	there := map[storedIdentity]bool{}
	for i := range f.Policies {
		there[f.Policies[i].identity()] = true
	}
	for i := range f.Tiers {
		there[f.Tiers[i].identity()] = true
	}
	served := func(t storedIdentity) bool {
		t.group = CalicoNetworkPolicies.Group()
		return there[t]
	}
	f.Policies = slices.DeleteFunc(f.Policies, func(p Policy) bool {
		t := p.identity()
		switch t.group {
		case StoredCalicoNetworkPolicies.Group():
			return served(t)
		case CalicoNetworkPolicies.Group():
			name, ok := strings.CutPrefix(p.Name, translatedPrefix)
			return ok && there[storedIdentity{NetworkPolicies.Group(), p.Kind, p.Namespace, name}]
		}
		return false
	})
	f.Tiers = slices.DeleteFunc(f.Tiers, func(t Tier) bool {
		return t.Group == StoredCalicoTiers.Group() && served(t.identity())
	})
}

// translatedPrefix stands before the name of a policy of Kubernetes that Calico
// lists among its own.
const translatedPrefix = "knp.default."

// twin identifies an object by the name that it has in every form.
type storedIdentity struct{ group, kind, namespace, name string }

// identity of a policy of Calico has the name with that of its tier before it, which
// stands there where it is stored and may be left out where it is served: "deny" and
// "default.deny" are one policy (libcalico-go/lib/names/policy.go).
func (p *Policy) identity() storedIdentity {
	name := p.Name
	if p.Group == CalicoNetworkPolicies.Group() || p.Group == StoredCalicoNetworkPolicies.Group() {
		tier := cmp.Or(p.TierName, "default") + "."
		name = tier + strings.TrimPrefix(name, tier)
	}
	return storedIdentity{p.Group, p.Kind, p.Namespace, name}
}

func (t *Tier) identity() storedIdentity { return storedIdentity{t.Group, t.Kind, "", t.Name} }
