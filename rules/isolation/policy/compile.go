package policy

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// compiledPolicy is a policy with everything that can be computed about it alone,
// once, however many pods and namespaces it selects.
type compiledPolicy struct {
	*snapshot.Policy
	place         int                  // its position among all policies, in order; negative in all readings but the first
	denies, rules [2][]*compiledRule   // by Direction
	alone         [2]map[string]effect // by Direction and the policies of its tier that pass traffic before it
	// doubts are what is not known about its rules, by Direction. Then this is the
	// policy in the first of readings, and others has the same policy in the others.
	doubts [2][]Doubt
	others map[reading]*compiledPolicy
	// hidden is true of what stands for objects that are not known to be policies in
	// force: no message names it.
	hidden bool
	// off is what disables policies of its kind, or nil.
	off *snapshot.Enforcement
}

// affects reports whether the policy does anything in a direction, or was meant to.
func (p *compiledPolicy) affects(d snapshot.Direction) bool {
	return p.Isolates[d] || len(p.denies[d])+len(p.rules[d]) > 0
}

func compilePolicy(p *snapshot.Policy, place int, sets *addressSets) *compiledPolicy {
	w := &compiledPolicy{Policy: p, place: place}
	all := readings()
	w.compileRules(sets, all[0])
	if len(w.doubts[0])+len(w.doubts[1]) == 0 {
		return w
	}
	w.others = map[reading]*compiledPolicy{}
	for i, r := range all[1:] {
		// Their places differ, so that lists of policies have different keys.
		w.others[r] = &compiledPolicy{Policy: p, place: -1 - place*len(all) - i}
		w.others[r].compileRules(sets, r)
	}
	return w
}

func (p *compiledPolicy) compileRules(sets *addressSets, r reading) {
	for _, d := range snapshot.Directions() {
		compile := func(list []snapshot.Rule) []*compiledRule {
			out := make([]*compiledRule, len(list))
			for i := range list {
				peers, doubts := sets.resolve(&list[i].Peers, r.everything(list[i].Action))
				out[i] = compileRule(&list[i], peers, p.Namespace, sets.existing)
				p.doubts[d] = append(p.doubts[d], doubts...)
			}
			return out
		}
		p.denies[d], p.rules[d] = compile(p.Denies[d]), compile(p.Rules[d])
	}
}

// effectAlone returns what the policy does by itself to connections that other
// policies of its tier do not pass to the next tier before it.
func (p *compiledPolicy) effectAlone(d snapshot.Direction, passes []*compiledPolicy) effect {
	key := placesKey(passes)
	e, ok := p.alone[d][key]
	if !ok {
		if p.alone[d] == nil {
			p.alone[d] = map[string]effect{}
		}
		e = p.evaluateAlone(d, passes)
		p.alone[d][key] = e
	}
	return e
}

// evaluateAlone computes what effectAlone returns. A policy that isolates denies
// both classes, whatever it admits, unless it admits everything or leaves
// everything to others.
func (p *compiledPolicy) evaluateAlone(d snapshot.Direction, passes []*compiledPolicy) effect {
	v := decide(append(slices.Clone(passes), p), d)
	e := v.effect()
	if p.Isolates[d] {
		for c := range e.denies {
			e.denies[c] = e.open != ScopeAll && !v.undecided[c][0].all()
		}
	}
	return e
}

// passing returns a policy with only the Pass rules of this one, or nil if it has
// none.
func (p *compiledPolicy) passing(d snapshot.Direction) *compiledPolicy {
	var passes []*compiledRule
	for _, r := range p.rules[d] {
		if r.Action == snapshot.Pass {
			passes = append(passes, r)
		}
	}
	if passes == nil {
		return nil
	}
	only := &compiledPolicy{
		Policy: &snapshot.Policy{Meta: p.Meta, Tier: p.Tier, Order: p.Order, TierName: p.TierName}, place: p.place,
	}
	only.rules[d] = passes
	return only
}

// placesKey returns a key that is equal only for equal lists of policies.
func placesKey(policies []*compiledPolicy) string {
	var key []byte
	for _, p := range policies {
		key = append(strconv.AppendInt(key, int64(p.place), 36), ' ')
	}
	return string(key)
}

// compiledRule is a rule with what it matches by itself.
type compiledRule struct {
	*snapshot.Rule
	peers *snapshot.Peers   // those that matter
	on    [3]ports          // by protocol
	whole [peerClasses]bool // whether it matches all of a class
	// existing are the namespaces and pods by which it is judged whether it matches
	// nearly all of the cluster, nil if that is not enough. own is the policy's.
	existing *inhabitants
	own      string
	// missed is what missPlainLabels returns for its peers, and held the share of
	// the public IPv4 and IPv6 addresses it covers.
	missed [2]bool
	held   [2]float64
}

// compileRule compiles a rule of a policy in a namespace, with its peers as they are
// known.
func compileRule(rule *snapshot.Rule, peers *snapshot.Peers, namespace string, existing *inhabitants) *compiledRule {
	w := &compiledRule{Rule: rule, peers: nameOwn(peersThatMatter(rule.Action, peers), namespace), own: namespace}
	if rule.Action != snapshot.Deny {
		w.existing = existing
	}
	for i, protocol := range protocols() {
		w.on[i] = portsOf(rule.Ports, protocol)
	}
	w.whole = [peerClasses]bool{cluster: coversCluster(w.peers, w.existing, w.own), internet: coversInternet(w.peers, nil)}
	w.missed = missPlainLabels(pairsOf(w.peers), pairLabels()...)
	if len(w.peers.CIDRs) > 0 {
		w.held = [2]float64{share(w.peers.CIDRs, internet4()), share(w.peers.CIDRs, internet6())}
	}
	return w
}

// nameOwn makes peers in the policy's own namespace select it by its name, so that
// together with peers in all other namespaces they cover the cluster.
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

// covers reports whether the rule matches all of a class except the addresses in
// except.
func (w *compiledRule) covers(c peerClass, except []snapshot.CIDR) bool {
	return w.whole[c] && (c == cluster || len(except) == 0 || coversInternet(w.peers, except))
}

// holdsPart reports whether the rule matches anything of a class.
func (w *compiledRule) holdsPart(c peerClass) bool {
	blocks := len(w.peers.CIDRs) > 0
	if c == internet {
		return blocks
	}
	return len(w.peers.Pods) > 0 || w.peers.CIDRsMatchPods && blocks
}

// within returns the rule restricted to some ports.
func (w *compiledRule) within(on [3]ports) *compiledRule {
	if on[0].all() && on[1].all() && on[2].all() {
		return w
	}
	less := *w
	for i := range on {
		less.on[i] = w.on[i].and(on[i])
	}
	return &less
}

// partsBudget bounds the work of combining parts for all port ranges. Parts that
// together cover the class are beyond it taken to do so on all of their ports, unless
// they deny: nobody shall hide an opening by cutting it small.
const partsBudget = 1 << 18

// portsCoveredTogether returns on which ports of a protocol some rules, which each
// match only a part of a class, match all of it together.
func portsCoveredTogether(c peerClass, protocol int, parts []*compiledRule, except []snapshot.CIDR) ports {
	parts = slices.DeleteFunc(slices.Clone(parts), func(w *compiledRule) bool { return len(w.on[protocol]) == 0 })
	if !mayCoverTogether(c, parts) || !coverTogether(c, parts, except) {
		return nil
	}
	// The answer can change only where a rule's port range begins or ends.
	var cuts []int32
	for _, w := range parts {
		for _, s := range w.on[protocol] {
			cuts = append(cuts, s.first, s.last+1)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var out ports
	if len(cuts)*len(parts) > partsBudget {
		for _, w := range parts {
			if w.Action != snapshot.Deny {
				out = out.plus(w.on[protocol])
			}
		}
		return out
	}
	for i := range len(cuts) - 1 {
		stretch := ports{{cuts[i], cuts[i+1] - 1}}
		here := slices.DeleteFunc(slices.Clone(parts), func(w *compiledRule) bool { return len(w.on[protocol].and(stretch)) == 0 })
		if mayCoverTogether(c, here) && coverTogether(c, here, except) {
			out = out.plus(stretch)
		}
	}
	return out
}

// mayCoverTogether is a cheap check before coverTogether: usually the parts miss
// plain pods, or are far from the whole internet.
func mayCoverTogether(c peerClass, parts []*compiledRule) bool {
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
		return !missed[0] && (!missed[1] || parts[0].existing != nil)
	}
	const rounding = 1e-9
	return held[0] >= nearlyAll-rounding || held[1] >= nearlyAll-rounding
}

// coverTogether reports whether the rules match all of a class together.
func coverTogether(c peerClass, parts []*compiledRule, except []snapshot.CIDR) bool {
	var all snapshot.Peers
	for _, w := range parts {
		all.Pods = append(all.Pods, w.peers.Pods...)
		all.CIDRs = append(all.CIDRs, w.peers.CIDRs...)
		all.CIDRsMatchPods = all.CIDRsMatchPods || w.peers.CIDRsMatchPods
	}
	if c == internet {
		return coversInternet(&all, except)
	}
	// The policies of a namespace are all in one or in none.
	own := ""
	for _, w := range parts {
		own = cmp.Or(own, w.own)
	}
	return coversCluster(&all, parts[0].existing, own)
}
