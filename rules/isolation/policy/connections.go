package policy

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// peerClass is a class of peers that is evaluated as a whole: a connection counts
// only if all of a class may make it.
type peerClass uint8

const (
	cluster  peerClass = iota // every pod of the cluster
	internet                  // the public addresses outside the cluster
	peerClasses
)

func protocols() [3]snapshot.Protocol {
	return [3]snapshot.Protocol{snapshot.TCP, snapshot.UDP, snapshot.SCTP}
}

// connections is a set of connections: the ports for each class of peers and protocol.
type connections [peerClasses][3]ports

// Scope is how far connections open a pod. The empty scope opens nothing as a
// whole, though single peers or ports may be admitted.
type Scope string

// The scopes, as the report spells them, from the widest on.
const (
	ScopeAll     Scope = "all"     // everybody, on every port
	ScopeWorld   Scope = "world"   // the addresses outside the cluster
	ScopeCluster Scope = "cluster" // every pod of the cluster
	ScopeTCP     Scope = "tcp"     // everybody, on every TCP port
)

// Scopes are all scopes, the widest first.
func Scopes() []Scope { return []Scope{ScopeAll, ScopeWorld, ScopeCluster, ScopeTCP} }

// Wider returns the wider of two scopes.
func Wider(a, b Scope) Scope {
	for _, s := range Scopes() {
		if a == s || b == s {
			return s
		}
	}
	return ""
}

// scope returns how far the connections open a pod.
func (r *connections) scope() Scope {
	tcp := func(c peerClass) bool { return r[c][0].nearlyAll() }
	every := func(c peerClass) bool { return tcp(c) && r[c][1].nearlyAll() && r[c][2].nearlyAll() }
	switch {
	case every(cluster) && every(internet):
		return ScopeAll
	case every(internet):
		return ScopeWorld
	case tcp(cluster) && tcp(internet):
		return ScopeTCP
	case every(cluster):
		return ScopeCluster
	// One protocol is enough: a pod that the whole internet can reach by TCP is
	// open to the internet.
	case tcp(internet):
		return ScopeWorld
	case tcp(cluster):
		return ScopeCluster
	}
	return ""
}

// plus returns the union of two connections.
func (r connections) plus(o *connections) connections {
	for c := range r {
		for i := range r[c] {
			r[c][i] = r[c][i].plus(o[c][i])
		}
	}
	return r
}

// none reports whether a class has no port of any protocol.
func none(class [3]ports) bool {
	return len(class[0]) == 0 && len(class[1]) == 0 && len(class[2]) == 0
}

// everyPort is every port of every protocol.
func everyPort() [3]ports { return [3]ports{allPorts(), allPorts(), allPorts()} }

// connectionsOf returns on which ports the rules together match all of a class,
// ignoring addresses in except.
func connectionsOf(batch []*compiledRule, except []snapshot.CIDR) connections {
	var r connections
	// Rules that each match a part of a class may cover it together, like two halves
	// of the internet.
	var parts [peerClasses][]*compiledRule
	for _, rule := range batch {
		if rule.Narrow {
			continue
		}
		for c := range r {
			switch {
			case rule.covers(peerClass(c), except):
				for i := range r[c] {
					r[c][i] = r[c][i].plus(rule.on[i])
				}
			case rule.holdsPart(peerClass(c)):
				parts[c] = append(parts[c], rule)
			}
		}
	}
	for c := range r {
		if !mayCoverTogether(peerClass(c), parts[c]) {
			continue
		}
		for i := range r[c] {
			if !r[c][i].all() {
				r[c][i] = r[c][i].plus(portsCoveredTogether(peerClass(c), i, parts[c], except))
			}
		}
	}
	return r
}

// peersThatMatter returns the peers of a rule that matter. Admitting one IP version
// is enough to open a pod; denying only IPv6 closes nothing, because nearly every
// peer can use IPv4.
func peersThatMatter(action snapshot.Action, peers *snapshot.Peers) *snapshot.Peers {
	only6 := func(b snapshot.CIDR) bool { return !b.Prefix.Addr().Is4() }
	if action != snapshot.Deny || !slices.ContainsFunc(peers.CIDRs, only6) {
		return peers
	}
	without := *peers
	without.CIDRs = slices.DeleteFunc(slices.Clone(peers.CIDRs), only6)
	return &without
}

// coversCluster reports whether the peers hold every pod of every namespace there could
// be, or nearly every one of those that exist, if any are given.
func coversCluster(peers *snapshot.Peers, existing *inhabitants, own string) bool {
	part := 1.0
	if existing != nil {
		part = nearlyAll
	}
	if peers.Everyone || peers.CIDRsMatchPods && coversEverything(peers.CIDRs, part) {
		return true
	}
	return coversAll(pairsOf(peers), pairLabels()...) || existing.admittedBy(peers, own)
}

// The reasons for which policies leave a pod open in a direction.
const (
	ReasonNoPolicy       = "no-policy"      // no policy of the namespace denies anything in that direction
	ReasonNotSelected    = "not-selected"   // policies do, but none selects its pods
	ReasonInvalidPolicy  = "invalid-policy" // the only policies can't be in force
	ReasonNotEnforced    = "not-enforced"   // the network plugin is configured not to enforce them
	ReasonAllowAll       = "allow-all"
	ReasonAllowWorld     = "allow-world"
	ReasonAllowCluster   = "allow-cluster"
	ReasonAllowAllTCP    = "allow-all-tcp"
	ReasonWorldNotDenied = "world-not-denied" // only the pods of the cluster are denied
)

// ReasonFor returns the reason for which a pod is open by rules.
func ReasonFor(s Scope) string {
	switch s {
	case ScopeAll:
		return ReasonAllowAll
	case ScopeWorld:
		return ReasonAllowWorld
	case ScopeCluster:
		return ReasonAllowCluster
	case ScopeTCP:
		return ReasonAllowAllTCP
	}
	return ""
}

// ScopeOf is the inverse of ReasonFor. It is empty for a pod that is open because
// nothing denies.
func ScopeOf(reason string) Scope {
	for _, s := range Scopes() {
		if ReasonFor(s) == reason {
			return s
		}
	}
	return ""
}
