package policy

import (
	"math"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maybe returns what a policy does in a reading to pods of which it is not known
// whether it selects them.
func (p *compiledPolicy) maybe(r reading) *compiledPolicy {
	bare := *p.Policy
	only := &compiledPolicy{Policy: &bare, place: p.place, hidden: true, off: p.off}
	if r.closed {
		only.denies = p.denies
	} else {
		bare.Isolates = [2]bool{}
	}
	for _, d := range snapshot.Directions() {
		for _, rule := range p.rules[d] {
			if r.everything(rule.Action) {
				only.rules[d] = append(only.rules[d], rule)
			}
		}
	}
	return only
}

// selectsByAccountLabels reports whether a selector of pods depends on the labels of
// their ServiceAccounts, and returns it without these requirements.
func selectsByAccountLabels(s snapshot.Selector) (rest snapshot.Selector, ok bool) {
	ofAccount := func(r snapshot.Requirement) bool {
		return strings.HasPrefix(r.Key, snapshot.ServiceAccountLabelPrefix)
	}
	if !slices.ContainsFunc(s, ofAccount) {
		return s, false
	}
	return slices.DeleteFunc(slices.Clone(s), ofAccount), true
}

// restricting returns a policy that denies all that policies of an unsupported kind
// might deny, for readings that deny as much as they can.
func restricting(u *snapshot.Unsupported, place int) *compiledPolicy {
	p := &snapshot.Policy{Tier: math.Inf(-1)}
	for _, d := range snapshot.Directions() {
		if u.Directions[d] {
			p.Denies[d] = []snapshot.Rule{{
				Action: snapshot.Deny, Peers: snapshot.Peers{Internet: true}, Ports: snapshot.Ports{All: true},
			}}
		}
	}
	c := &compiledPolicy{Policy: p, place: place, hidden: true}
	for _, d := range snapshot.Directions() {
		for i := range p.Denies[d] {
			c.denies[d] = append(c.denies[d], compileRule(&p.Denies[d][i], &p.Denies[d][i].Peers, "", nil))
		}
	}
	return c
}
