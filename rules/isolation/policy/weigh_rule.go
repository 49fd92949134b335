package policy

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// weighedRule is a rule and what it comes to by itself.
type weighedRule struct {
	*snapshot.Rule
	peers *snapshot.Peers   // as far as they count
	on    [3]ports          // by protocol
	whole [peerClasses]bool // whether it matches all of a class
	// missed says of the plainest pods whether the rule leaves them out, and held
	// how much it holds of the public addresses of IPv4 and of IPv6.
	missed [2]bool
	held   [2]float64
}

// weighRule weighs a rule of a policy in a namespace.
func weighRule(rule *snapshot.Rule, namespace string) *weighedRule {
	w := &weighedRule{Rule: rule, peers: nameOwn(peersOf(rule), namespace)}
	for i, protocol := range protocols() {
		w.on[i] = portsOf(rule.Ports, protocol)
	}
	w.whole = [peerClasses]bool{cluster: coversCluster(w.peers), world: coversWorld(w.peers, nil)}
	w.missed = missPlainest(pairsOf(w.peers), pairLabel)
	if len(w.peers.CIDRs) > 0 {
		w.held = [2]float64{share(w.peers.CIDRs, world4()), share(w.peers.CIDRs, world6())}
	}
	return w
}

// nameOwn has peers of the own namespace select it by its name: beside peers of
// all other namespaces they make up the cluster.
func nameOwn(peers *snapshot.Peers, namespace string) *snapshot.Peers {
	own := func(p snapshot.PodPeer) bool { return p.OwnNamespace }
	if namespace == "" || !slices.ContainsFunc(peers.Pods, own) {
		return peers
	}
	named := *peers
	named.Pods = slices.Clone(peers.Pods)
	by := snapshot.Selector{{Key: snapshot.NamespaceNameLabel, Op: snapshot.In, Values: []string{namespace}}}
	for i := range named.Pods {
		if p := &named.Pods[i]; p.OwnNamespace {
			p.OwnNamespace, p.Namespaces = false, by
		}
	}
	return &named
}

// covers reports whether the rule matches all of a class, but for the addresses in
// except.
func (w *weighedRule) covers(c peerClass, except []snapshot.CIDR) bool {
	return w.whole[c] && (c == cluster || len(except) == 0 || coversWorld(w.peers, except))
}

// holdsPart reports whether the rule matches anything of a class.
func (w *weighedRule) holdsPart(c peerClass) bool {
	blocks := len(w.peers.CIDRs) > 0
	if c == world {
		return blocks
	}
	return len(w.peers.Pods) > 0 || w.peers.CIDRsMatchPods && blocks
}

// within returns the rule as it is on some ports only.
func (w *weighedRule) within(on [3]ports) *weighedRule {
	if on[0].all() && on[1].all() && on[2].all() {
		return w
	}
	less := *w
	for i := range on {
		less.on[i] = w.on[i].and(on[i])
	}
	return &less
}

// partsBudget bounds how often parts of a class are looked at for all stretches of
// ports together. Beyond it the answer is that they do not make it up.
const partsBudget = 1 << 16

// madeUp returns on which ports of a protocol some rules, which each match only a
// part of a class, match all of it together.
func madeUp(c peerClass, protocol int, parts []*weighedRule, except []snapshot.CIDR) ports {
	parts = slices.DeleteFunc(slices.Clone(parts), func(w *weighedRule) bool { return len(w.on[protocol]) == 0 })
	if !mayMakeUp(c, parts) || !makeUp(c, parts, except) {
		return nil
	}
	// A port at which any rule begins or ends is where the answer may change.
	var cuts []int32
	for _, w := range parts {
		for _, s := range w.on[protocol] {
			cuts = append(cuts, s.first, s.last+1)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	if len(cuts)*len(parts) > partsBudget {
		return nil
	}
	var out ports
	for i := range len(cuts) - 1 {
		stretch := ports{{cuts[i], cuts[i+1] - 1}}
		here := slices.DeleteFunc(slices.Clone(parts), func(w *weighedRule) bool { return len(w.on[protocol].and(stretch)) == 0 })
		if mayMakeUp(c, here) && makeUp(c, here, except) {
			out = out.plus(stretch)
		}
	}
	return out
}

// mayMakeUp reports whether it is worth while to hold the parts together: mostly
// they leave out the plainest pods, or are far from the whole internet.
func mayMakeUp(c peerClass, parts []*weighedRule) bool {
	if len(parts) < 2 {
		return false
	}
	var held [2]float64
	missed := [2]bool{true, true}
	for _, w := range parts {
		if c == cluster && w.peers.CIDRsMatchPods {
			return true
		}
		for i := range held {
			held[i] += w.held[i]
			missed[i] = missed[i] && w.missed[i]
		}
	}
	if c == cluster {
		return !missed[0] && !missed[1]
	}
	const rounding = 1e-9
	return held[0] >= worldShare-rounding || held[1] >= worldShare-rounding
}

// makeUp reports whether the rules match all of a class together.
func makeUp(c peerClass, parts []*weighedRule, except []snapshot.CIDR) bool {
	var all snapshot.Peers
	for _, w := range parts {
		all.Pods = append(all.Pods, w.peers.Pods...)
		all.CIDRs = append(all.CIDRs, w.peers.CIDRs...)
		all.CIDRsMatchPods = all.CIDRsMatchPods || w.peers.CIDRsMatchPods
	}
	if c == world {
		return coversWorld(&all, except)
	}
	return coversCluster(&all)
}
