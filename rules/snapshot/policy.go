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

// Directions are both directions, in the order in which they are evaluated and
// printed.
func Directions() [2]Direction { return [2]Direction{DirectionIngress, DirectionEgress} }

// String returns the direction as NetworkPolicy spells it in policyTypes.
func (d Direction) String() string {
	if d == DirectionEgress {
		return "Egress"
	}
	return "Ingress"
}

// Policy is the fact of a policy for pod traffic: the common form of the objects
// of all engines. An object that holds several policies becomes several facts.
//
// For one pod and direction, policies are consulted tier by tier, and by order
// within a tier. The first rule that matches a connection decides: Allow and Deny
// finally, Pass for the rest of the tier. The Denies of all policies of a tier
// come before its Rules. What no rule of a tier matches is denied at its end if a
// policy that selects the pod isolates it, and continues to the next tier
// otherwise. What no tier decides is allowed.
type Policy struct {
	Meta
	// Tier and Order are the position of the policy, both from low to high.
	// TierName, if set, names its Tier object. Policies with different names are
	// never in one tier, even with equal orders; the tier without a name is that
	// of Kubernetes' own policies.
	Tier, Order float64
	TierName    string
	Subject     Subject
	Isolates    [2]bool   // by Direction
	Denies      [2][]Rule // by Direction: Deny rules that no Rules of the tier come before
	Rules       [2][]Rule // by Direction, in order
	// Invalid is why the policy can't be in force, empty for a valid one. For an
	// invalid one, Isolates says where it was meant to deny.
	Invalid string
}

// The tiers that engines agree on. Calico uses the same numbers and places its own
// tiers between and after them.
const (
	TierAdmin    float64 = 1_000
	TierDefault  float64 = 1_000_000 // NetworkPolicy and what stands beside it
	TierBaseline float64 = 10_000_000
)

// OrderNetworkPolicy is the position of NetworkPolicies among the ordered policies
// of their tier.
const OrderNetworkPolicy float64 = 1_000

// Tier is the fact of an object that describes a tier.
type Tier struct {
	Meta
	Order float64
	// Passes is true if the tier denies nothing at its end.
	Passes bool
}

// Action is what happens to a connection that a rule matches.
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
	// Narrow is true if the rule has further conditions, such as an HTTP path, so
	// that it never decides on everything that its peers and ports say.
	Narrow bool
}

// Subject is the pods that a policy selects: those in any of the parts. An empty
// subject selects nothing.
type Subject []PodPeer

// Peers are the other ends of a connection: the union of the fields.
type Peers struct {
	Everyone bool // no peer is named: pods, nodes, the world
	Internet bool // every address outside the cluster
	Pods     []PodPeer
	CIDRs    []CIDR
	Sets     []SetPeer
	// NotSets select sets of Calico, over the labels of SetLabels, whose addresses
	// are excluded from all of the above.
	NotSets []Selector
	// Unsure are pods that are peers only if something holds that no fact says.
	Unsure []UnsurePeer
	// CIDRsMatchPods is true if the engine also matches addresses of pods against
	// CIDRs and Sets.
	CIDRsMatchPods bool
}

// PodPeer selects pods by their labels and those of their Namespace.
type PodPeer struct {
	OwnNamespace bool     // only pods of the policy's namespace
	Namespaces   Selector // of any other; empty for all
	Pods         Selector
}

// UnsurePeer is pods that may be peers.
type UnsurePeer struct {
	Pods PodPeer
	// Kind is what is not known, and Why says what that is about.
	Kind Kind
	Why  string
}

// CIDR is a range of addresses without some ranges inside it.
type CIDR struct {
	Prefix netip.Prefix
	Except []netip.Prefix
}

// placeTiers gives each policy that names a tier the tier's order. If the tier
// denies nothing at its end, its policies isolate nothing. A tier has the same
// name in the group that serves it and in the one that stores it.
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

// Enforcement is the fact of an object that configures the network plugin not to
// enforce policies, so that what only they deny is allowed. An object that changes
// nothing is not a fact; one that changes several things is several.
type Enforcement struct {
	Meta
	// Off is the setting that disables enforcement, as the object spells it, such
	// as "enable-policy: never".
	Off string
	// Kind is the kind of policies that is not enforced, empty for all of them.
	Kind Kind
}

// Unsupported is the fact that there are, or may be, policies of an unsupported
// kind.
type Unsupported struct {
	Kind Kind
	// Namespace is where they are, empty if they may apply to any.
	Namespace string
	// Directions are those that the kind can affect.
	Directions [2]bool
	// Restricts is true of a kind that can only deny, and only addresses outside the
	// cluster: it opens nothing that other policies deny.
	Restricts bool
}

func compareUnsupported(a, b Unsupported) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(string(a.Kind), string(b.Kind)))
}

// dropDuplicates drops Calico policies and tiers that were read twice.
//
// Calico serves its kinds in one group and stores them in another. If both can be
// read, each object is in both; manifests may contain either form. The served form
// is kept: the stored one may be stale, since newer releases store objects in the
// group that they serve. Older releases also list Kubernetes' own policies among
// Calico's.
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
	f.AddressSets = servedSets(f.AddressSets)
}

// translatedPrefix begins the name of a Kubernetes policy that Calico lists among
// its own.
const translatedPrefix = "knp.default."

// storedIdentity identifies an object by the name that it has in every form.
type storedIdentity struct{ group, kind, namespace, name string }

// identity adds the name of the tier to a Calico policy's name. It is there in the
// stored form and may be absent in the served one: "deny" and "default.deny" are
// one policy (libcalico-go/lib/names/policy.go).
func (p *Policy) identity() storedIdentity {
	name := p.Name
	if p.Group == CalicoNetworkPolicies.Group() || p.Group == StoredCalicoNetworkPolicies.Group() {
		tier := cmp.Or(p.TierName, "default") + "."
		name = tier + strings.TrimPrefix(name, tier)
	}
	return storedIdentity{p.Group, p.Kind, p.Namespace, name}
}

func (t *Tier) identity() storedIdentity { return storedIdentity{t.Group, t.Kind, "", t.Name} }
