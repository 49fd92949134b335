package policy

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// AllowAll is a policy that opens what it selects.
type AllowAll struct {
	place  int // among the policies of the ruling
	Policy *snapshot.Policy
	Scope  Scope
	Alone  bool // without the help of others
}

// maxSought bounds how many policies are left out, one after the other, to find
// those that open pods only together. Beyond it they are not named.
const maxSought = 4096

// findOpeners finds which of some policies, which select a pod together, open it.
// Where none of them opens it so far by itself, it is those without which it
// would not be. Those that are known to open every pod are not named again.
func (r *Set) findOpeners(j *judgement, which []int) {
	opens := j.byRule
	alone := func(i int) Scope { return r.effects[i].byRule }
	together := opens != "" && !slices.ContainsFunc(which, func(i int) bool { return Wider(alone(i), opens) == alone(i) })
	if together {
		r.sought += len(which)
	}
	for k, i := range which {
		if r.openers[i] {
			continue
		}
		if s := alone(i); s != "" {
			j.openers = append(j.openers, AllowAll{i, r.policies[i].Policy, s, true})
			continue
		}
		if !together || r.sought > maxSought {
			continue
		}
		without := decide(r.policiesAt(slices.Delete(slices.Clone(which), k, k+1)), r.direction)
		// Without one that denies it would be open further.
		if left := without.effect().byRule; left != opens && Wider(left, opens) == opens {
			j.openers = append(j.openers, AllowAll{i, r.policies[i].Policy, opens, false})
		}
	}
}
