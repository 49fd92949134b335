package policy

import (
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// verdict is what policies make of the connections of a pod in one direction.
type verdict struct {
	allowed   reach // by a rule
	denied    reach // by a rule, or at the end of a tier
	byRule    reach // denied by a rule
	undecided reach // by nothing, so allowed
	// allows are the rules that let through some of a class, so far. What each of
	// them does stays done, so they may make up the class together, whatever stands
	// between them.
	allows [peerClasses][]*weighedRule
	// loose counts the parts of a class that were not yet tried together.
	loose [peerClasses]int
	// deniedBlocks are the addresses that rules deny, so far.
	deniedBlocks []snapshot.CIDR
}

// decide consults policies, which all select one pod, in their order: the rules
// of a tier first, what the tier does at its end, then the next tier. Rules that
// decide on only a part of a class of peers change nothing, but for the public
// addresses that they deny.
func decide(policies []*weighedPolicy, d snapshot.Direction) verdict {
	var v verdict
	for c := range v.undecided {
		v.undecided[c] = everyPort()
	}
	for len(policies) > 0 {
		end := 1
		for end < len(policies) && sameTier(policies[end], policies[0]) {
			end++
		}
		v.tier(policies[:end], d)
		policies = policies[end:]
	}
	return v
}

// move takes what is matched out of what is undecided and adds it to a reach.
func (v *verdict) move(matched, to *reach) {
	for c := range v.undecided {
		for i := range v.undecided[c] {
			now := v.undecided[c][i].and(matched[c][i])
			if len(now) == 0 {
				continue
			}
			to[c][i] = to[c][i].plus(now)
			v.undecided[c][i] = v.undecided[c][i].minus(now)
		}
	}
}

// effect is what a verdict comes to.
type effect struct {
	// open is how far the pod is open, be it by a rule or for want of one.
	open Scope
	// byRule is how far rules open it.
	byRule Scope
	// denies says of which class anything is denied as a whole.
	denies [peerClasses]bool
	// guarded says that a policy that denies anything selects the pod, if only
	// for others to open it again.
	guarded bool
}

func (e effect) deniesAnything() bool { return e.denies[cluster] || e.denies[world] }

func (v *verdict) effect() effect {
	rules := v.allowed
	all := v.allowed.plus(&v.undecided)
	var e effect
	for c := range rules {
		for i := range rules[c] {
			// An allow-all beside rules that deny a few ports is one still.
			if whole := rules[c][i].plus(v.byRule[c][i]); whole.all() && v.byRule[c][i].few() {
				rules[c][i], all[c][i] = whole, whole
			}
		}
		if v.leaves(peerClass(c)) {
			all[c] = everyPort()
		}
		// Hardly any cluster lets SCTP pass, and hardly any policy names it.
		e.denies[c] = v.denied[c][0].all() && v.denied[c][1].all()
	}
	e.open, e.byRule = all.scope(), rules.scope()
	return e
}

// leaves reports whether a class is open for want of a decision. Rules that
// decide on some ports leave it open on all those that nobody thought of; a few
// that are left are no more than a few that are allowed.
func (v *verdict) leaves(c peerClass) bool {
	return !v.undecided[c][0].few() || !v.undecided[c][1].few()
}

// reason returns why a pod is open, or the empty string. untouched is the reason
// for a pod on which nothing decides.
func (e effect) reason(untouched string) string {
	switch {
	case e.open == "":
		return ""
	case e.byRule == e.open:
		return ReasonFor(e.open)
	case e.open == ScopeWorld:
		return ReasonWorldNotDenied
	case e.open == ScopeCluster:
		return ReasonAllowCluster
	case e.guarded && e.byRule != "":
		return ReasonFor(e.byRule)
	case e.guarded:
		// What denies the pod is never reached: others pass by it.
		return ReasonFor(e.open)
	}
	return untouched
}
