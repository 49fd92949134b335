package rules

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// scope is how far a set of allow rules opens a pod in one direction. The empty
// scope opens nothing as a whole, whatever single peers or ports it admits.
type scope string

// The scopes, as the report spells them, from the widest on.
const (
	scopeAll     scope = "all"     // everybody, on every port
	scopeWorld   scope = "world"   // the addresses outside the cluster
	scopeCluster scope = "cluster" // every pod of the cluster
	scopeTCP     scope = "tcp"     // everybody, on every TCP port
)

// scopes are all scopes, the widest first.
func scopes() []scope { return []scope{scopeAll, scopeWorld, scopeCluster, scopeTCP} }

// wider returns the wider of two scopes.
func wider(a, b scope) scope {
	for _, s := range scopes() {
		if a == s || b == s {
			return s
		}
	}
	return ""
}

// reach adds up allow rules of one direction.
type reach struct {
	// cluster and world are the port ranges on which all pods, and all outside
	// addresses, are admitted.
	cluster, world []snapshot.PortRange
	// blocks are the addresses admitted on every port of a protocol. Two halves
	// of the internet may stand in two rules.
	blocks map[snapshot.Protocol][]snapshot.Block
	// podPeers are those admitted on every port of a protocol, for the same
	// reason.
	podPeers map[snapshot.Protocol][]snapshot.PodPeer
}

func protocols() []snapshot.Protocol {
	return []snapshot.Protocol{snapshot.TCP, snapshot.UDP, snapshot.SCTP}
}

// reachOf returns how far the rules open a pod together.
func reachOf(allows []snapshot.Allow) scope {
	r := reach{
		blocks:   map[snapshot.Protocol][]snapshot.Block{},
		podPeers: map[snapshot.Protocol][]snapshot.PodPeer{},
	}
	for i := range allows {
		r.add(&allows[i])
	}
	return r.scope()
}

func (r *reach) add(a *snapshot.Allow) {
	ranges := a.Ports.Ranges
	if a.Ports.All {
		ranges = nil
		for _, p := range protocols() {
			ranges = append(ranges, snapshot.PortRange{Protocol: p, First: 1, Last: snapshot.LastPort})
		}
	}
	if a.Peers.Everyone {
		r.cluster = append(r.cluster, ranges...)
		r.world = append(r.world, ranges...)
		return
	}
	if coversCluster(a.Peers.Pods) {
		r.cluster = append(r.cluster, ranges...)
	}
	if coversWorld(a.Peers.Blocks) {
		r.world = append(r.world, ranges...)
	}
	for _, p := range protocols() {
		if coversPorts(ranges, p) {
			r.blocks[p] = append(r.blocks[p], a.Peers.Blocks...)
			r.podPeers[p] = append(r.podPeers[p], a.Peers.Pods...)
		}
	}
}

func (r *reach) scope() scope {
	inCluster := func(p snapshot.Protocol) bool {
		return coversPorts(r.cluster, p) || coversCluster(r.podPeers[p])
	}
	inWorld := func(p snapshot.Protocol) bool {
		return coversPorts(r.world, p) || coversWorld(r.blocks[p])
	}
	every := func(is func(snapshot.Protocol) bool) bool {
		return is(snapshot.TCP) && is(snapshot.UDP) && is(snapshot.SCTP)
	}
	switch {
	case every(inCluster) && every(inWorld):
		return scopeAll
	case every(inWorld):
		return scopeWorld
	case inCluster(snapshot.TCP) && inWorld(snapshot.TCP):
		return scopeTCP
	case every(inCluster):
		return scopeCluster
	// One protocol is enough to talk: a pod that all the world reaches by TCP
	// is open to the world.
	case inWorld(snapshot.TCP):
		return scopeWorld
	case inCluster(snapshot.TCP):
		return scopeCluster
	}
	return ""
}

// coversPorts reports whether the ranges hold every port of a protocol.
func coversPorts(ranges []snapshot.PortRange, p snapshot.Protocol) bool {
	mine := slices.DeleteFunc(slices.Clone(ranges), func(r snapshot.PortRange) bool { return r.Protocol != p })
	slices.SortFunc(mine, func(a, b snapshot.PortRange) int { return int(a.First - b.First) })
	next := int32(1)
	for _, r := range mine {
		if r.First > next {
			return false
		}
		next = max(next, r.Last+1)
	}
	return next > snapshot.LastPort
}

// namespaceName is the label that every Namespace carries.
const namespaceName = "kubernetes.io/metadata.name"

// coversCluster reports whether the peers hold every pod of every namespace.
func coversCluster(peers []snapshot.PodPeer) bool {
	// A peer selects a pair of Namespace and pod. Its two selectors become one
	// over the labels of both, told apart by a prefix.
	var selectors []snapshot.Selector
	for _, p := range peers {
		if p.OwnNamespace {
			continue
		}
		selectors = append(selectors, slices.Concat(prefixed("n ", p.Namespaces), prefixed("p ", p.Pods)))
	}
	return coversAll(selectors, "n "+namespaceName)
}

func prefixed(prefix string, s snapshot.Selector) snapshot.Selector {
	out := make(snapshot.Selector, len(s))
	for i, r := range s {
		out[i] = snapshot.Requirement{Key: prefix + r.Key, Op: r.Op, Values: r.Values}
	}
	return out
}
