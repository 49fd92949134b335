package policy

import (
	"slices"
	"strconv"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Set is what some policies do together in one direction, in whatever
// namespace they are about.
type Set struct {
	direction snapshot.Direction
	policies  []*weighedPolicy   // valid ones that bear on the direction, as they are consulted
	effects   []effect           // of each alone
	always    []int              // those that name no labels, so select every pod
	pods      selectorIndex[int] // which of the others select a pod
	invalid   int                // policies that cannot be in force
	denied    [peerClasses]bool  // whether every possible pod is denied the class by a policy that is no allow-all
	everyPod  *judgement         // by the policies that each select every possible pod
	untouched string             // the reason for a pod that no policy denies anything
	byLabels  map[string]*judgement
	bySome    map[string]*judgement // by those policies that select a pod and not always do
	openers   []bool                // by policy: whether it is known to open every pod
	sought    int                   // how much was looked for openers
}

// judgement is what the policies that select a pod do to it.
type judgement struct {
	effect
	openers []AllowAll
}

// newSet judges the parts of policies that are about one namespace, which come
// in the order in which they are consulted.
func newSet(parts []part, d snapshot.Direction) *Set {
	r := &Set{direction: d, byLabels: map[string]*judgement{}, bySome: map[string]*judgement{}}
	var selectors [][]snapshot.Selector // by policy
	for _, p := range parts {
		switch {
		case p.policy.Invalid != "" && p.policy.Isolates[d]:
			r.invalid++
		case p.policy.Invalid != "":
		case !p.policy.Isolates[d] && len(p.policy.Denies[d])+len(p.policy.Rules[d]) == 0:
		default:
			if last := len(r.policies) - 1; last < 0 || r.policies[last] != p.policy {
				r.policies = append(r.policies, p.policy)
				selectors = append(selectors, nil)
			}
			last := len(r.policies) - 1
			selectors[last] = append(selectors[last], p.pods)
			if len(p.pods) > 0 {
				r.pods.add(p.pods, last)
			} else if n := len(r.always); n == 0 || r.always[n-1] != last {
				r.always = append(r.always, last)
			}
		}
	}
	r.judgeAll(selectors)
	return r
}

// Policies returns the valid policies of the set, as they are consulted.
func (r *Set) Policies() []*snapshot.Policy {
	out := make([]*snapshot.Policy, len(r.policies))
	for i, p := range r.policies {
		out[i] = p.Policy
	}
	return out
}

// Invalid is how many policies cannot be in force.
func (r *Set) Invalid() int { return r.invalid }

// Denies reports whether every possible pod is denied by default the pods of the
// cluster, and the addresses outside.
func (r *Set) Denies() (pods, internet bool) { return r.denied[cluster], r.denied[world] }

// EveryPod says how far policies that select every possible pod open it, and
// which of them do.
func (r *Set) EveryPod() (Scope, []AllowAll) { return r.everyPod.byRule, r.everyPod.openers }

// Pod returns why a pod with these labels is open, or the empty string if it is
// isolated and stays so, and the policies that open it.
func (r *Set) Pod(labels snapshot.Labels) (reason string, openers []AllowAll) {
	j := r.judge(labels)
	return j.reason(r.untouched), j.openers
}

// Tally counts the policies of the set that deny something but not to every pod,
// those that admit everything, and the others.
func (r *Set) Tally() (narrow, all, other int) {
	for _, e := range r.effects {
		switch {
		case e.byRule == ScopeAll:
			all++
		case e.deniesAnything():
			narrow++
		default:
			other++
		}
	}
	return narrow, all, other
}

// judgeAll judges what the policies do to every pod that there could be.
func (r *Set) judgeAll(selectors [][]snapshot.Selector) {
	r.effects = make([]effect, len(r.policies))
	var denying [peerClasses][]snapshot.Selector
	for c := range denying {
		denying[c] = make([]snapshot.Selector, 0, len(r.policies))
	}
	var everyPod []int
	var passes []*weighedPolicy
	deniesAnything := false
	for i, p := range r.policies {
		if i > 0 && !sameTier(p, r.policies[i-1]) {
			passes = nil
		}
		e := p.effectAlone(r.direction, passes)
		r.effects[i] = e
		deniesAnything = deniesAnything || e.deniesAnything()
		for c := range denying {
			if e.denies[c] {
				denying[c] = append(denying[c], selectors[i]...)
			}
		}
		if coversAll(selectors[i]) {
			everyPod = append(everyPod, i)
			if only := p.passing(r.direction); only != nil {
				passes = append(passes, only)
			}
		}
	}
	for c := range denying {
		r.denied[c] = coversAll(denying[c])
	}
	switch {
	case deniesAnything:
		r.untouched = ReasonNotSelected
	case r.invalid > 0:
		r.untouched = ReasonInvalidPolicy
	default:
		r.untouched = ReasonNoPolicy
	}
	r.openers = make([]bool, len(r.policies))
	r.everyPod = r.judgeThose(everyPod)
	if slices.Equal(everyPod, r.always) {
		r.bySome[""] = r.everyPod
	}
	for _, o := range r.everyPod.openers {
		r.openers[o.place] = true
	}
}

// judge returns what the policies come to for pods with the given labels. It
// depends only on which policies select them, so it is judged once for each
// such set.
func (r *Set) judge(labels snapshot.Labels) *judgement {
	if r.pods.empty() {
		return r.judgeSome(nil)
	}
	key := labels.Key()
	if j := r.byLabels[key]; j != nil {
		return j
	}
	var some []int
	r.pods.each(labels, func(i int) { some = append(some, i) })
	slices.Sort(some)
	j := r.judgeSome(slices.Compact(some))
	r.byLabels[key] = j
	return j
}

// judgeSome returns what those policies come to that select a pod and not always
// do, with those that always do.
func (r *Set) judgeSome(some []int) *judgement {
	var which []byte
	for _, i := range some {
		which = append(strconv.AppendInt(which, int64(i), 36), ' ')
	}
	j := r.bySome[string(which)]
	if j == nil {
		all := slices.Concat(r.always, some)
		slices.Sort(all)
		j = r.judgeThose(slices.Compact(all))
		r.bySome[string(which)] = j
	}
	return j
}

// judgeThose returns what the policies of some places come to together.
func (r *Set) judgeThose(which []int) *judgement {
	v := decide(r.policiesAt(which), r.direction)
	j := &judgement{effect: v.effect()}
	j.guarded = slices.ContainsFunc(which, func(i int) bool { return r.effects[i].deniesAnything() })
	r.findOpeners(j, which)
	return j
}

// policiesAt returns the policies of some places.
func (r *Set) policiesAt(which []int) []*weighedPolicy {
	policies := make([]*weighedPolicy, len(which))
	for k, i := range which {
		policies[k] = r.policies[i]
	}
	return policies
}
