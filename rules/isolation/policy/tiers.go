package policy

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// outcome is what policies do to the connections of a pod in one direction.
type outcome struct {
	allowed   connections // by a rule
	denied    connections // by a rule, or at the end of a tier
	undecided connections // by nothing, so allowed
	// allows are the rules so far that admit some of a class. What each admits stays
	// admitted, so they may cover the class together, whatever comes between them.
	allows [peerClasses][]*compiledRule
	// uncombined counts the parts of a class that were not yet combined.
	uncombined [peerClasses]int
	// deniedCIDRs are the addresses that rules deny so far.
	deniedCIDRs []snapshot.CIDR
}

// decide consults policies that all select one pod, in order: the rules of a tier,
// then what the tier does at its end, then the next tier. Rules that decide on only
// a part of a class of peers change nothing, except for the public addresses that
// they deny.
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

// move moves what is matched from the undecided connections to others.
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

// effect summarizes an outcome.
type effect struct {
	// open is how far the pod is open, by a rule or for lack of one.
	open Scope
	// byRule is how far rules open it.
	byRule Scope
	// denies says which classes are denied as a whole.
	denies [peerClasses]bool
	// guarded is true if a policy that denies anything selects the pod, even if
	// others open it again.
	guarded bool
	// hidden is true if there are policies and all of them are hidden.
	hidden bool
}

func (e effect) deniesAnything() bool { return e.denies[cluster] || e.denies[internet] }

func (v *outcome) effect() effect {
	all := v.allowed.plus(&v.undecided)
	var e effect
	for c := range all {
		if v.leaves(peerClass(c)) {
			all[c] = everyPort()
		}
		// SCTP is left out: few clusters use it, and few policies name it.
		e.denies[c] = v.denied[c][0].all() && v.denied[c][1].all()
	}
	e.open, e.byRule = all.scope(), v.allowed.scope()
	return e
}

// leaves reports whether a class is open for lack of a decision: rules that decide
// on some ports leave it open on all others. A few undecided ports are ignored, as
// a few allowed ones are.
func (v *outcome) leaves(c peerClass) bool {
	return !v.undecided[c][0].few() || !v.undecided[c][1].few()
}

// reason returns why a pod is open, or the empty string. untouched is the reason
// for a pod about which nothing decides.
func (e effect) reason(untouched string) string {
	switch {
	case e.open == "":
		return ""
	case e.byRule == e.open:
		return ReasonFor(e.open)
	case e.hidden:
		return untouched
	case e.open == ScopeWorld:
		return ReasonWorldNotDenied
	case e.open == ScopeCluster:
		return ReasonAllowCluster
	case e.guarded && e.byRule != "":
		return ReasonFor(e.byRule)
	case e.guarded:
		// The rules that deny the pod are never reached.
		return ReasonFor(e.open)
	}
	return untouched
}

const (
	// maxTogether is how many rules are always combined to see whether they cover a class
	// together.
	maxTogether = 64
	// togetherBudget bounds the work of combining more of them, by the square of their
	// number, in one tier. Beyond it, those that may cover the class are taken to do so:
	// nobody shall hide an opening by cutting it small.
	togetherBudget = 1 << 22
)

// tierOutcome is the outcome while one tier is consulted.
type tierOutcome struct {
	*outcome
	batch  []*compiledRule              // consecutive rules of one action, which commute and are evaluated together
	passes [peerClasses][]*compiledRule // rules of the tier so far that pass some of a class to the next one
	passed connections
	work   int // of combining parts
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

// add consults rules.
func (t *tierOutcome) add(rules []*compiledRule) {
	for i := range rules {
		if len(t.batch) > 0 && t.batch[0].Action != rules[i].Action {
			t.evaluateBatch()
		}
		t.batch = append(t.batch, rules[i])
	}
}

// evaluateBatch evaluates the rules of the batch.
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
			// A rule that denies the whole internet leaves no addresses to exclude later.
			if !r.Narrow && !r.whole[internet] && r.Ports.All && !none(t.undecided[internet]) {
				t.deniedCIDRs = append(t.deniedCIDRs, r.peers.CIDRs...)
			}
		}
		t.move(&matched, &t.denied)
	}
}

// remember adds rules that decide on some of a class, each on the ports that are
// still undecided.
func (t *tierOutcome) remember(list *[peerClasses][]*compiledRule, batch []*compiledRule) {
	for c := range list {
		if none(t.undecided[c]) {
			continue
		}
		before := len(list[c])
		for _, r := range batch {
			if !r.Narrow && !r.whole[c] && r.holdsPart(peerClass(c)) {
				list[c] = append(list[c], r.within(t.undecided[c]))
			}
		}
		if len(list[c]) > before {
			t.uncombined[c]++
		}
	}
}

// combineParts combines the parts of classes before the rest is decided. If what is
// admitted or passed to the next tier covers a class, no rest remains.
func (t *tierOutcome) combineParts(rest *connections) {
	var allowed, passed connections
	for c := range rest {
		// The rules of a single batch were already evaluated together.
		n := len(t.allows[c]) + len(t.passes[c])
		if none(rest[c]) || none(t.undecided[c]) || t.uncombined[c] < 2 {
			continue
		}
		t.uncombined[c] = 1
		if n > maxTogether {
			t.work += n * n
		}
		if t.work > togetherBudget {
			allowed[c] = portsOfParts(peerClass(c), t.allows[c])
			if len(t.passes[c]) > 0 {
				passed[c] = portsOfParts(peerClass(c), slices.Concat(t.allows[c], t.passes[c]))
			}
			continue
		}
		allowed[c] = connectionsOf(t.allows[c], t.deniedCIDRs)[c]
		if len(t.passes[c]) > 0 {
			passed[c] = connectionsOf(slices.Concat(t.allows[c], t.passes[c]), nil)[c]
		}
	}
	t.move(&allowed, &t.allowed)
	t.move(&passed, &t.passed)
}

// portsOfParts returns the ports of rules if they may cover a class together.
func portsOfParts(c peerClass, parts []*compiledRule) (on [3]ports) {
	// Of the cluster, addresses must hold all that they must of the internet.
	selected := slices.DeleteFunc(slices.Clone(parts), func(r *compiledRule) bool { return len(r.peers.CIDRs) > 0 })
	if !mayCoverTogether(internet, parts) && (c == internet || !mayCoverTogether(c, selected)) {
		return on
	}
	for _, r := range parts {
		for i := range on {
			on[i] = on[i].plus(r.on[i])
		}
	}
	return on
}
