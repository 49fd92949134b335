package policy

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Set is a list of policies that apply to one namespace in one direction, and what
// they do together.
type Set struct {
	// Doubts are what the policies depend on and that is not known, sorted. If there
	// are any, the Set takes it to open as much as it can. Others are the Sets that take
	// it otherwise, the first one to deny as much as it can: what holds of all of them
	// is certain.
	Doubts []Doubt
	Others []*Set

	direction     snapshot.Direction
	policies      []*compiledPolicy       // valid ones that affect the direction, in order
	effects       []effect                // of each alone
	always        []int                   // those without label requirements, which select every pod
	pods          selectorIndex[int]      // which of the others select a pod
	accounts      bool                    // some select pods by the name of their ServiceAccount
	invalid       []*snapshot.Policy      // policies that can't be in force
	off           []*snapshot.Enforcement // what disables policies that would deny
	denied        [peerClasses]bool       // whether a policy that is not an allow-all denies the class to every possible pod
	everyPod      *evaluation             // of the policies that each select every possible pod
	untouched     string                  // the reason for a pod to which no policy denies anything
	byLabels      map[string]*evaluation
	bySome        map[string]*evaluation // by the policies that select a pod, without those that select every pod
	opensEveryPod []bool                 // by policy: known to open every pod
	searched      int                    // policies tried so far to find allow-all rules
}

// evaluation is what the policies that select a pod do to it.
type evaluation struct {
	effect
	allowAlls []AllowAll
}

// newSet evaluates the parts of policies that are about one namespace, which come
// in the order in which they are consulted.
func newSet(parts []part, d snapshot.Direction, in reading) *Set {
	r := &Set{direction: d, byLabels: map[string]*evaluation{}, bySome: map[string]*evaluation{}}
	var selectors [][]snapshot.Selector // by policy
	for _, p := range parts {
		policy := p.in(in)
		switch {
		case policy == nil || !policy.affects(d):
		case policy.off != nil:
			if policy.Isolates[d] && !slices.Contains(r.off, policy.off) {
				r.off = append(r.off, policy.off)
			}
		case policy.Invalid != "":
			if policy.Isolates[d] {
				r.invalid = append(r.invalid, policy.Policy)
			}
		default:
			if last := len(r.policies) - 1; last < 0 || r.policies[last] != policy {
				r.policies = append(r.policies, policy)
				selectors = append(selectors, nil)
			}
			last := len(r.policies) - 1
			if !p.existing {
				selectors[last] = append(selectors[last], p.pods)
			}
			switch {
			case p.possible:
			case len(p.pods) > 0:
				r.pods.add(p.pods, last)
				r.accounts = r.accounts || slices.ContainsFunc(p.pods, byAccount)
			case !slices.Contains(r.always[max(len(r.always)-1, 0):], last):
				r.always = append(r.always, last)
			}
		}
	}
	r.evaluateEveryPod(selectors)
	return r
}

// byAccount reports whether a requirement on pods is about the name of their
// ServiceAccount.
func byAccount(r snapshot.Requirement) bool { return r.Key == snapshot.ServiceAccountKey }

// Policies returns the valid policies of the set, in order.
func (r *Set) Policies() []*snapshot.Policy {
	out := make([]*snapshot.Policy, 0, len(r.policies))
	for _, p := range r.policies {
		if !p.hidden {
			out = append(out, p.Policy)
		}
	}
	return out
}

// Off returns what disables policies that would deny, nil if nothing does.
func (r *Set) Off() []*snapshot.Enforcement { return r.off }

// Invalid returns the policies that can't be in force, in order.
func (r *Set) Invalid() []*snapshot.Policy { return slices.Compact(slices.Clone(r.invalid)) }

// Denies reports whether every possible pod is denied by default the pods of the
// cluster, and the addresses outside.
func (r *Set) Denies() (pods, outside bool) { return r.denied[cluster], r.denied[internet] }

// EveryPod returns how far the policies that select every possible pod open it, and
// which of them do.
func (r *Set) EveryPod() (Scope, []AllowAll) { return r.everyPod.byRule, r.everyPod.allowAlls }

// Pod returns why a pod with these labels and this ServiceAccount, empty for the
// default one, is open, empty if it is isolated, and the policies that open it.
func (r *Set) Pod(labels snapshot.Labels, account string) (reason string, allowAlls []AllowAll) {
	if r.accounts {
		labels = labels.With(snapshot.ServiceAccountKey, cmp.Or(account, snapshot.DefaultServiceAccount))
	}
	j := r.evaluate(labels)
	return j.reason(r.untouched), j.allowAlls
}

// Tally counts the policies that deny something but not to every pod, those that
// admit everything, and the others.
func (r *Set) Tally() (narrow, all, other int) {
	for i, e := range r.effects {
		switch {
		case r.policies[i].hidden:
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

// evaluateEveryPod evaluates what the policies do to every pod that could exist.
func (r *Set) evaluateEveryPod(selectors [][]snapshot.Selector) {
	r.effects = make([]effect, len(r.policies))
	var denying [peerClasses][]snapshot.Selector
	for c := range denying {
		denying[c] = make([]snapshot.Selector, 0, len(r.policies))
	}
	var everyPod []int
	var passes []*compiledPolicy
	deniesAnything := false
	for i, p := range r.policies {
		if i > 0 && !sameTier(p, r.policies[i-1]) {
			passes = nil
		}
		e := p.effectAlone(r.direction, passes)
		r.effects[i] = e
		deniesAnything = deniesAnything || !p.hidden && e.deniesAnything()
		for c := range denying {
			if e.denies[c] {
				denying[c] = append(denying[c], selectors[i]...)
			}
		}
		if coversAll(selectors[i], snapshot.ServiceAccountKey) {
			everyPod = append(everyPod, i)
			if only := p.passing(r.direction); only != nil {
				passes = append(passes, only)
			}
		}
	}
	for c := range denying {
		r.denied[c] = coversAll(denying[c], snapshot.ServiceAccountKey)
	}
	switch {
	case deniesAnything:
		r.untouched = ReasonNotSelected
	case len(r.off) > 0:
		r.untouched = ReasonNotEnforced
	case len(r.invalid) > 0:
		r.untouched = ReasonInvalidPolicy
	default:
		r.untouched = ReasonNoPolicy
	}
	r.opensEveryPod = make([]bool, len(r.policies))
	r.everyPod = r.evaluateAt(everyPod)
	if slices.Equal(everyPod, r.always) {
		r.bySome[""] = r.everyPod
	}
	for _, o := range r.everyPod.allowAlls {
		r.opensEveryPod[o.place] = true
	}
}

// evaluate returns what the policies do to pods with the given labels. The result
// depends only on which policies select them, so it is cached by that.
func (r *Set) evaluate(labels snapshot.Labels) *evaluation {
	if r.pods.empty() {
		return r.evaluateSelecting(nil)
	}
	key := labels.Key()
	if j := r.byLabels[key]; j != nil {
		return j
	}
	var some []int
	r.pods.each(labels, func(i int) { some = append(some, i) })
	slices.Sort(some)
	j := r.evaluateSelecting(slices.Compact(some))
	r.byLabels[key] = j
	return j
}

// evaluateSelecting returns what some policies do together with those that select
// every pod.
func (r *Set) evaluateSelecting(some []int) *evaluation {
	var which []byte
	for _, i := range some {
		which = append(strconv.AppendInt(which, int64(i), 36), ' ')
	}
	j := r.bySome[string(which)]
	if j == nil {
		all := slices.Concat(r.always, some)
		slices.Sort(all)
		j = r.evaluateAt(slices.Compact(all))
		r.bySome[string(which)] = j
	}
	return j
}

// evaluateAt returns what the policies at some places do together.
func (r *Set) evaluateAt(which []int) *evaluation {
	v := decide(r.policiesAt(which), r.direction)
	j := &evaluation{effect: v.effect()}
	j.guarded = slices.ContainsFunc(which, func(i int) bool { return r.effects[i].deniesAnything() })
	j.hidden = len(which) > 0 && !slices.ContainsFunc(which, func(i int) bool { return !r.policies[i].hidden })
	r.findAllowAlls(j, which)
	return j
}

// policiesAt returns the policies at some places.
func (r *Set) policiesAt(which []int) []*compiledPolicy {
	policies := make([]*compiledPolicy, len(which))
	for k, i := range which {
		policies[k] = r.policies[i]
	}
	return policies
}

// AllowAll is a policy that opens the pods it selects.
type AllowAll struct {
	place  int // among the policies of the Set
	Policy *snapshot.Policy
	Scope  Scope
	Alone  bool // without the help of others
}

// maxSought bounds how many policies are left out, one after the other, to find
// those that open pods only together. Beyond it they are not named.
const maxSearched = 4096

// findAllowAlls finds which of some policies, which select a pod together, open it.
// If none opens it that far by itself, these are the ones without which it would
// not be open. Policies known to open every pod are not named again.
func (r *Set) findAllowAlls(j *evaluation, which []int) {
	opens := j.byRule
	alone := func(i int) Scope { return r.effects[i].byRule }
	together := opens != "" && !slices.ContainsFunc(which, func(i int) bool { return Wider(alone(i), opens) == alone(i) })
	if together {
		r.searched += len(which)
	}
	for k, i := range which {
		if r.opensEveryPod[i] {
			continue
		}
		if s := alone(i); s != "" {
			j.allowAlls = append(j.allowAlls, AllowAll{i, r.policies[i].Policy, s, true})
			continue
		}
		if !together || r.searched > maxSearched {
			continue
		}
		without := decide(r.policiesAt(slices.Delete(slices.Clone(which), k, k+1)), r.direction)
		// Without a policy that denies, it would be open further.
		if left := without.effect().byRule; left != opens && Wider(left, opens) == opens {
			j.allowAlls = append(j.allowAlls, AllowAll{i, r.policies[i].Policy, opens, false})
		}
	}
}
