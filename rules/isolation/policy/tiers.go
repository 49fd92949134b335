package policy

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// verdict is what policies make of the connections of a pod in one direction.
type outcome struct {
	allowed   connections // by a rule
	denied    connections // by a rule, or at the end of a tier
	byRule    connections // denied by a rule
	undecided connections // by nothing, so allowed
	// allows are the rules that let through some of a class, so far. What each of
	// them does stays done, so they may make up the class together, whatever stands
	// between them.
	allows [peerClasses][]*compiledRule
	// loose counts the parts of a class that were not yet tried together.
	uncombined [peerClasses]int
	// deniedBlocks are the addresses that rules deny, so far.
	deniedCIDRs []snapshot.CIDR
}

// decide consults policies, which all select one pod, in their order: the rules
// of a tier first, what the tier does at its end, then the next tier. Rules that
// decide on only a part of a class of peers change nothing, but for the public
// addresses that they deny.
func decide(policies []*compiledPolicy, d snapshot.Direction) outcome {
	var v outcome
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
func (v *outcome) move(matched, to *connections) {
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

func (e effect) deniesAnything() bool { return e.denies[cluster] || e.denies[internet] }

func (v *outcome) effect() effect {
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
func (v *outcome) leaves(c peerClass) bool {
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

// maxTogether bounds how many rules are tried for whether they make up a class
// together, whatever stands between them.
const maxTogether = 64

// tierVerdict is a verdict while one tier is consulted.
type tierOutcome struct {
	*outcome
	batch  []*compiledRule              // rules of one action in a row, which commute and are judged together
	passes [peerClasses][]*compiledRule // rules of the tier that pass some of a class to the next one, so far
	passed connections
}

// tier consults the policies of one tier.
func (v *outcome) tier(policies []*compiledPolicy, d snapshot.Direction) {
	t := &tierOutcome{outcome: v}
	isolates := false
	for _, p := range policies {
		isolates = isolates || p.Isolates[d]
		t.add(p.denies[d])
	}
	for _, p := range policies {
		t.add(p.rules[d])
	}
	t.evaluateBatch()
	t.combineParts(&v.undecided)
	if isolates {
		rest := v.undecided
		v.move(&rest, &v.denied)
	}
	v.undecided = v.undecided.plus(&t.passed)
}

// take consults rules.
func (t *tierOutcome) add(rules []*compiledRule) {
	for i := range rules {
		if len(t.batch) > 0 && t.batch[0].Action != rules[i].Action {
			t.evaluateBatch()
		}
		t.batch = append(t.batch, rules[i])
	}
}

// flush judges the rules of the batch.
func (t *tierOutcome) evaluateBatch() {
	batch := t.batch
	t.batch = nil
	if len(batch) == 0 {
		return
	}
	switch batch[0].Action {
	case snapshot.Allow:
		matched := connectionsOf(batch, t.deniedCIDRs)
		t.remember(&t.allows, batch)
		t.move(&matched, &t.allowed)
	case snapshot.Pass:
		matched := connectionsOf(batch, nil)
		t.combineParts(&matched)
		t.remember(&t.passes, batch)
		t.move(&matched, &t.passed)
	case snapshot.Deny:
		matched := connectionsOf(batch, nil)
		t.combineParts(&matched)
		for _, r := range batch {
			// What denies all of the world leaves nothing to be passed over later.
			if !r.Narrow && !r.whole[internet] && r.Ports.All && !none(t.undecided[internet]) {
				t.deniedCIDRs = append(t.deniedCIDRs, r.Peers.CIDRs...)
			}
		}
		t.byRule = t.byRule.plus(matched.and(&t.undecided))
		t.move(&matched, &t.denied)
	}
}

// remember adds rules that decide on some of a class, each on the ports on which
// that is not decided before it.
func (t *tierOutcome) remember(list *[peerClasses][]*compiledRule, batch []*compiledRule) {
	for c := range list {
		if none(t.undecided[c]) {
			continue
		}
		before := len(list[c])
		for _, r := range batch {
			if !r.Narrow && !r.whole[c] && r.holdsPart(peerClass(c)) && len(list[c]) <= maxTogether {
				list[c] = append(list[c], r.within(t.undecided[c]))
			}
		}
		if len(list[c]) > before {
			t.uncombined[c]++
		}
	}
}

// assemble puts the parts of classes together before the rest of them is decided
// on. What is let through and what is passed to the next tier leaves no rest where
// it makes up a class.
func (t *tierOutcome) combineParts(rest *connections) {
	var allowed, passed connections
	for c := range rest {
		// The rules of a single batch were judged together when they were met.
		n := len(t.allows[c]) + len(t.passes[c])
		if none(rest[c]) || none(t.undecided[c]) || t.uncombined[c] < 2 || n > maxTogether {
			continue
		}
		t.uncombined[c] = 1
		allowed[c] = connectionsOf(t.allows[c], t.deniedCIDRs)[c]
		if len(t.passes[c]) > 0 {
			passed[c] = connectionsOf(slices.Concat(t.allows[c], t.passes[c]), nil)[c]
		}
	}
	t.move(&allowed, &t.allowed)
	t.move(&passed, &t.passed)
}
