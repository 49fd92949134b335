package rules

import (
	"slices"
	"strconv"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// The reasons for which a workload is open in a direction.
const (
	reasonNoPolicy       = "no-policy"      // no policy of the namespace denies anything in that direction
	reasonNotSelected    = "not-selected"   // policies do, but none of them selects its pods
	reasonInvalidPolicy  = "invalid-policy" // the only policies there are cannot be in force
	reasonAllowAll       = "allow-all"
	reasonAllowWorld     = "allow-world"
	reasonAllowCluster   = "allow-cluster"
	reasonAllowAllTCP    = "allow-all-tcp"
	reasonWorldNotDenied = "world-not-denied" // only the pods of the cluster are denied
	reasonNotEnforced    = "not-enforced"     // the network plugin is told to enforce nothing
	reasonHostNetwork    = "host-network"
)

// denial is what policies do in one namespace and direction.
type denial struct {
	direction snapshot.Direction
	policies  []*snapshot.Policy // valid ones that bear on the direction, as they are consulted
	pods      selectorIndex[int] // which of them select a pod
	effects   []effect           // of each alone
	invalid   int                // policies that cannot be in force
	denied    [peerClasses]bool  // whether every possible pod is denied the class by a policy that is no allow-all
	open      scope              // how far the policies that select every pod open it again
	openers   []opener           // policies that open what they select
	off       bool               // policies are not enforced
	reasons   map[string]string  // by label set: why its pods are open, if they are
	verdicts  map[string]effect  // by the policies that select a pod
}

// judgeDenial judges the parts of policies that are about one namespace, which
// come in the order in which they are consulted.
func judgeDenial(parts []part, d snapshot.Direction) *denial {
	n := &denial{direction: d, reasons: map[string]string{}, verdicts: map[string]effect{}}
	var selectors [][]snapshot.Selector // by policy
	for _, p := range parts {
		switch {
		case p.policy.Invalid != "" && p.policy.Isolates[d]:
			n.invalid++
		case p.policy.Invalid != "":
		case !p.policy.Isolates[d] && len(p.policy.Denies[d])+len(p.policy.Rules[d]) == 0:
		default:
			if last := len(n.policies) - 1; last < 0 || n.policies[last] != p.policy {
				n.policies = append(n.policies, p.policy)
				selectors = append(selectors, nil)
			}
			last := len(n.policies) - 1
			selectors[last] = append(selectors[last], p.pods)
			n.pods.add(p.pods, last)
		}
	}
	n.judgeAll(selectors)
	return n
}

// enforce says whether policies are enforced. Where they are not, those that
// there are still count as asked for, and all of them are defeated.
func (n *denial) enforce(enforced bool) {
	if n.off = !enforced; n.off {
		n.open = scopeAll
	}
}

// judgeAll judges what the policies do to every pod that there could be.
func (n *denial) judgeAll(selectors [][]snapshot.Selector) {
	var denying [peerClasses][]snapshot.Selector
	var everyPod, passes []*snapshot.Policy
	for i, p := range n.policies {
		if i > 0 && !sameTier(p, n.policies[i-1]) {
			passes = nil
		}
		e := n.alone(p, passes)
		n.effects = append(n.effects, e)
		for c := range denying {
			if e.denies[c] {
				denying[c] = append(denying[c], selectors[i]...)
			}
		}
		if coversAll(selectors[i]) {
			everyPod = append(everyPod, p)
			if only := passesOf(p, n.direction); only != nil {
				passes = append(passes, only)
			}
		}
	}
	for c := range denying {
		n.denied[c] = coversAll(denying[c])
	}
	v := decide(everyPod, n.direction)
	n.open = v.effect().byRule
	n.noteOpeners(everyPod, n.open)
}

// alone returns what a policy does by itself, to connections that policies
// before it in its tier do not pass over its head. One that isolates denies both
// classes, whatever it lets through, unless it lets everything through or leaves
// everything to others.
func (n *denial) alone(p *snapshot.Policy, passes []*snapshot.Policy) effect {
	v := decide(append(slices.Clone(passes), p), n.direction)
	e := v.effect()
	if p.Isolates[n.direction] {
		for c := range e.denies {
			e.denies[c] = e.open != scopeAll && !v.undecided[c][0].all()
		}
	}
	return e
}

// passesOf returns a policy with nothing but what the policy passes to the next
// tier, or nil if that is nothing.
func passesOf(p *snapshot.Policy, d snapshot.Direction) *snapshot.Policy {
	only := &snapshot.Policy{Meta: p.Meta, Tier: p.Tier, Order: p.Order, TierName: p.TierName}
	for _, r := range p.Rules[d] {
		if r.Action == snapshot.Pass {
			only.Rules[d] = append(only.Rules[d], r)
		}
	}
	if len(only.Rules[d]) == 0 {
		return nil
	}
	return only
}

// deniesAnything reports whether any policy denies anything as a whole.
func (n *denial) deniesAnything() bool {
	return slices.ContainsFunc(n.effects, effect.deniesAnything)
}

// reason returns why pods with the given labels are open, or the empty string if
// they are isolated and stay so.
func (n *denial) reason(labels snapshot.Labels) string {
	if n.off {
		return reasonNotEnforced
	}
	key := labels.Key()
	r, ok := n.reasons[key]
	if !ok {
		r = n.judge(labels).reason(n.untouched())
		n.reasons[key] = r
	}
	return r
}

// untouched is the reason for a pod that no policy denies anything.
func (n *denial) untouched() string {
	switch {
	case n.deniesAnything():
		return reasonNotSelected
	case n.invalid > 0:
		return reasonInvalidPolicy
	}
	return reasonNoPolicy
}

// judge returns what the policies come to for pods with the given labels. It
// depends only on which policies select them, so it is judged once for each
// such set.
func (n *denial) judge(labels snapshot.Labels) effect {
	var which []int
	n.pods.each(labels, func(i int) { which = append(which, i) })
	slices.Sort(which)
	which = slices.Compact(which)
	var key []byte
	for _, i := range which {
		key = append(strconv.AppendInt(key, int64(i), 36), ' ')
	}
	if e, ok := n.verdicts[string(key)]; ok {
		return e
	}
	policies := make([]*snapshot.Policy, len(which))
	guarded := false
	for i, w := range which {
		policies[i] = n.policies[w]
		guarded = guarded || n.effects[w].deniesAnything()
	}
	v := decide(policies, n.direction)
	e := v.effect()
	e.guarded = guarded
	n.verdicts[string(key)] = e
	n.noteOpeners(policies, e.byRule)
	return e
}

// word returns the denial as the report spells it. One that holds only the pods
// of the cluster off is partial.
func (n *denial) word() Denial {
	switch {
	case n.denied[cluster] && n.denied[world]:
		return Present
	case n.denied[cluster]:
		return Partial
	}
	return Missing
}

// reasonOf returns the reason for which a pod is open by rules.
func reasonOf(s scope) string {
	switch s {
	case scopeAll:
		return reasonAllowAll
	case scopeWorld:
		return reasonAllowWorld
	case scopeCluster:
		return reasonAllowCluster
	case scopeTCP:
		return reasonAllowAllTCP
	}
	return ""
}

// scopeOf is the reverse of reasonOf: empty for a pod that is open because
// nothing denies.
func scopeOf(reason string) scope {
	for _, s := range scopes() {
		if reasonOf(s) == reason {
			return s
		}
	}
	return ""
}
