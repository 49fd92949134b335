package policy

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxTogether bounds how many rules are tried for whether they make up a class
// together, whatever stands between them.
const maxTogether = 64

// tierVerdict is a verdict while one tier is consulted.
type tierVerdict struct {
	*verdict
	batch  []*weighedRule              // rules of one action in a row, which commute and are judged together
	passes [peerClasses][]*weighedRule // rules of the tier that pass some of a class to the next one, so far
	passed reach
}

// tier consults the policies of one tier.
func (v *verdict) tier(policies []*weighedPolicy, d snapshot.Direction) {
	t := &tierVerdict{verdict: v}
	isolates := false
	for _, p := range policies {
		isolates = isolates || p.Isolates[d]
		t.take(p.denies[d])
	}
	for _, p := range policies {
		t.take(p.rules[d])
	}
	t.flush()
	t.assemble(&v.undecided)
	if isolates {
		rest := v.undecided
		v.move(&rest, &v.denied)
	}
	v.undecided = v.undecided.plus(&t.passed)
}

// take consults rules.
func (t *tierVerdict) take(rules []*weighedRule) {
	for i := range rules {
		if len(t.batch) > 0 && t.batch[0].Action != rules[i].Action {
			t.flush()
		}
		t.batch = append(t.batch, rules[i])
	}
}

// flush judges the rules of the batch.
func (t *tierVerdict) flush() {
	batch := t.batch
	t.batch = nil
	if len(batch) == 0 {
		return
	}
	switch batch[0].Action {
	case snapshot.Allow:
		matched := reachOf(batch, t.deniedBlocks)
		t.remember(&t.allows, batch)
		t.move(&matched, &t.allowed)
	case snapshot.Pass:
		matched := reachOf(batch, nil)
		t.assemble(&matched)
		t.remember(&t.passes, batch)
		t.move(&matched, &t.passed)
	case snapshot.Deny:
		matched := reachOf(batch, nil)
		t.assemble(&matched)
		for _, r := range batch {
			// What denies all of the world leaves nothing to be passed over later.
			if !r.Narrow && !r.whole[world] && r.Ports.All && !none(t.undecided[world]) {
				t.deniedBlocks = append(t.deniedBlocks, r.Peers.CIDRs...)
			}
		}
		t.byRule = t.byRule.plus(matched.and(&t.undecided))
		t.move(&matched, &t.denied)
	}
}

// remember adds rules that decide on some of a class, each on the ports on which
// that is not decided before it.
func (t *tierVerdict) remember(list *[peerClasses][]*weighedRule, batch []*weighedRule) {
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
			t.loose[c]++
		}
	}
}

// assemble puts the parts of classes together before the rest of them is decided
// on. What is let through and what is passed to the next tier leaves no rest where
// it makes up a class.
func (t *tierVerdict) assemble(rest *reach) {
	var allowed, passed reach
	for c := range rest {
		// The rules of a single batch were judged together when they were met.
		n := len(t.allows[c]) + len(t.passes[c])
		if none(rest[c]) || none(t.undecided[c]) || t.loose[c] < 2 || n > maxTogether {
			continue
		}
		t.loose[c] = 1
		allowed[c] = reachOf(t.allows[c], t.deniedBlocks)[c]
		if len(t.passes[c]) > 0 {
			passed[c] = reachOf(slices.Concat(t.allows[c], t.passes[c]), nil)[c]
		}
	}
	t.move(&allowed, &t.allowed)
	t.move(&passed, &t.passed)
}
