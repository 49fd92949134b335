package policy

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// peerClass is a class of peers that is judged as a whole: what only some of a class
// may do does not count.
type peerClass uint8

const (
	cluster peerClass = iota // every pod of the cluster
	world                    // the public addresses outside
	peerClasses
)

func protocols() [3]snapshot.Protocol {
	return [3]snapshot.Protocol{snapshot.TCP, snapshot.UDP, snapshot.SCTP}
}

// reach holds, for each class of peers and protocol, a set of ports.
type reach [peerClasses][3]ports

// Scope is how far a reach opens a pod. The empty scope opens nothing as a
// whole, whatever single peers or ports it admits.
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

// scope returns how far the reach opens a pod.
func (r *reach) scope() Scope {
	every := func(c peerClass) bool { return r[c][0].all() && r[c][1].all() && r[c][2].all() }
	tcp := func(c peerClass) bool { return r[c][0].all() }
	switch {
	case every(cluster) && every(world):
		return ScopeAll
	case every(world):
		return ScopeWorld
	case tcp(cluster) && tcp(world):
		return ScopeTCP
	case every(cluster):
		return ScopeCluster
	// One protocol is enough to talk: a pod that all the world reaches by TCP
	// is open to the world.
	case tcp(world):
		return ScopeWorld
	case tcp(cluster):
		return ScopeCluster
	}
	return ""
}

// plus returns the union of two reaches.
func (r reach) plus(o *reach) reach {
	for c := range r {
		for i := range r[c] {
			r[c][i] = r[c][i].plus(o[c][i])
		}
	}
	return r
}

// none reports whether no port of any protocol is left of a class.
func none(class [3]ports) bool {
	return len(class[0]) == 0 && len(class[1]) == 0 && len(class[2]) == 0
}

// and returns what is in both reaches.
func (r reach) and(o *reach) *reach {
	for c := range r {
		for i := range r[c] {
			r[c][i] = r[c][i].and(o[c][i])
		}
	}
	return &r
}

// everyPort is every port of every protocol.
func everyPort() [3]ports { return [3]ports{allPorts(), allPorts(), allPorts()} }

// reachOf returns on which ports the rules match all of a class together.
// Addresses in except are passed over.
func reachOf(batch []*weighedRule, except []snapshot.CIDR) reach {
	var r reach
	// Rules that match a part of a class may make it up together, like two halves
	// of the internet.
	var parts [peerClasses][]*weighedRule
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
		if !mayMakeUp(peerClass(c), parts[c]) {
			continue
		}
		for i := range r[c] {
			if !r[c][i].all() {
				r[c][i] = r[c][i].plus(madeUp(peerClass(c), i, parts[c], except))
			}
		}
	}
	return r
}

// peersOf returns the peers of a rule as far as they count. To let one version of
// IP in is enough to open a pod; to deny IPv6 alone closes nothing, since next to
// everybody can come by IPv4.
func peersOf(rule *snapshot.Rule) *snapshot.Peers {
	only6 := func(b snapshot.CIDR) bool { return !b.Prefix.Addr().Is4() }
	if rule.Action != snapshot.Deny || !slices.ContainsFunc(rule.Peers.CIDRs, only6) {
		return &rule.Peers
	}
	peers := rule.Peers
	peers.CIDRs = slices.DeleteFunc(slices.Clone(peers.CIDRs), only6)
	return &peers
}

// coversCluster reports whether the peers hold every pod of every namespace.
func coversCluster(peers *snapshot.Peers) bool {
	if peers.Everyone || peers.CIDRsMatchPods && coversEverything(peers.CIDRs) {
		return true
	}
	return coversAll(pairsOf(peers), pairLabel)
}

// pairLabel is the label that every pair of Namespace and pod carries.
const pairLabel = "n " + snapshot.NamespaceNameLabel

// pairsOf returns the pairs of Namespace and pod that peers select, by selectors
// over the labels of both, which are told apart by a prefix.
func pairsOf(peers *snapshot.Peers) []snapshot.Selector {
	var selectors []snapshot.Selector
	for _, p := range peers.Pods {
		if !p.OwnNamespace {
			selectors = append(selectors, slices.Concat(prefixed("n ", p.Namespaces), prefixed("p ", p.Pods)))
		}
	}
	return selectors
}

func prefixed(prefix string, s snapshot.Selector) snapshot.Selector {
	out := make(snapshot.Selector, len(s))
	for i, r := range s {
		r.Key = prefix + r.Key
		out[i] = r
	}
	return out
}
