package policy

import (
	"slices"
	"strconv"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// weighedPolicy is a policy and what can be said of it without knowing what it is
// consulted with. That is found out once, however many pods and namespaces it
// selects.
type weighedPolicy struct {
	*snapshot.Policy
	place         int                  // among all policies, in the order in which they are consulted
	denies, rules [2][]*weighedRule    // by Direction
	alone         [2]map[string]effect // by Direction and the policies that pass over its head
}

func weighPolicy(p *snapshot.Policy, place int) *weighedPolicy {
	w := &weighedPolicy{Policy: p, place: place}
	for _, d := range snapshot.Directions() {
		w.denies[d], w.rules[d] = weighRules(p.Denies[d], p.Namespace), weighRules(p.Rules[d], p.Namespace)
	}
	return w
}

func weighRules(list []snapshot.Rule, namespace string) []*weighedRule {
	out := make([]*weighedRule, len(list))
	for i := range list {
		out[i] = weighRule(&list[i], namespace)
	}
	return out
}

// effectAlone returns what the policy does by itself, to connections that other
// policies of its tier do not pass over its head.
func (p *weighedPolicy) effectAlone(d snapshot.Direction, passes []*weighedPolicy) effect {
	key := placesKey(passes)
	e, ok := p.alone[d][key]
	if !ok {
		if p.alone[d] == nil {
			p.alone[d] = map[string]effect{}
		}
		e = p.judgeAlone(d, passes)
		p.alone[d][key] = e
	}
	return e
}

// judgeAlone finds out what effectAlone returns. A policy that isolates denies
// both classes, whatever it lets through, unless it lets everything through or
// leaves everything to others.
func (p *weighedPolicy) judgeAlone(d snapshot.Direction, passes []*weighedPolicy) effect {
	v := decide(append(slices.Clone(passes), p), d)
	e := v.effect()
	if p.Isolates[d] {
		for c := range e.denies {
			e.denies[c] = e.open != ScopeAll && !v.undecided[c][0].all()
		}
	}
	return e
}

// passing returns a policy with nothing but what this one passes to the next
// tier, or nil if that is nothing.
func (p *weighedPolicy) passing(d snapshot.Direction) *weighedPolicy {
	var passes []*weighedRule
	for _, r := range p.rules[d] {
		if r.Action == snapshot.Pass {
			passes = append(passes, r)
		}
	}
	if passes == nil {
		return nil
	}
	only := &weighedPolicy{
		Policy: &snapshot.Policy{Meta: p.Meta, Tier: p.Tier, Order: p.Order, TierName: p.TierName}, place: p.place,
	}
	only.rules[d] = passes
	return only
}

// placesKey returns a string that two lists of policies share only if they are
// equal.
func placesKey(policies []*weighedPolicy) string {
	var key []byte
	for _, p := range policies {
		key = append(strconv.AppendInt(key, int64(p.place), 36), ' ')
	}
	return string(key)
}
