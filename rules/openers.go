package rules

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// opener is a policy that opens what it selects.
type opener struct {
	policy *snapshot.Policy
	scope  scope
	alone  bool // without the help of others
}

// noteOpeners notes which of some policies, which select a pod together, open it.
// Where none of them opens it so far by itself, it is those without which it
// would not be.
func (n *denial) noteOpeners(policies []*snapshot.Policy, opens scope) {
	alone := func(p *snapshot.Policy) scope { return n.effects[slices.Index(n.policies, p)].byRule }
	together := opens != "" && !slices.ContainsFunc(policies, func(p *snapshot.Policy) bool { return wider(alone(p), opens) == alone(p) })
	for i, p := range policies {
		if s := alone(p); s != "" {
			n.noteOpener(opener{p, s, true})
			continue
		}
		if !together {
			continue
		}
		without := decide(slices.Delete(slices.Clone(policies), i, i+1), n.direction)
		// Without one that denies it would be open further.
		if left := without.effect().byRule; left != opens && wider(left, opens) == opens {
			n.noteOpener(opener{p, opens, false})
		}
	}
}

func (n *denial) noteOpener(o opener) {
	if !slices.ContainsFunc(n.openers, func(known opener) bool { return known.policy == o.policy }) {
		n.openers = append(n.openers, o)
	}
}
