package rules

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// The reasons for which a workload is open in a direction.
const (
	reasonNoPolicy      = "no-policy"      // no policy of the namespace governs the direction
	reasonNotSelected   = "not-selected"   // policies do, but none selects its pods
	reasonInvalidPolicy = "invalid-policy" // the only policies there are cannot be in force
	reasonAllowAll      = "allow-all"
	reasonAllowWorld    = "allow-world"
	reasonAllowCluster  = "allow-cluster"
	reasonAllowAllTCP   = "allow-all-tcp"
	reasonHostNetwork   = "host-network"
)

// denial is what the policies of one namespace do in one direction.
type denial struct {
	direction snapshot.Direction
	// governing are the valid policies that isolate what they select.
	governing []*snapshot.Policy
	invalid   int // policies that cannot be in force
	allowAll  int // governing policies that admit everything
	// present is whether every possible pod is selected by some policy that is
	// not itself an allow-all.
	present bool
	// open is how far the policies that select every pod open it again.
	open scope
	// openers are the governing policies that open what they select, by
	// themselves or together.
	openers []opener

	reasons map[string]string // by the key of a label set: why it is open, if it is
}

// opener is a policy that opens what it selects.
type opener struct {
	policy *snapshot.Policy
	scope  scope
	alone  bool // without the help of others
}

// judgeDenial judges the policies of one namespace.
func judgeDenial(policies []*snapshot.Policy, d snapshot.Direction) *denial {
	n := &denial{direction: d, reasons: map[string]string{}}
	var denying []snapshot.Selector
	var everyPod []*snapshot.Policy
	for _, p := range policies {
		if !p.Isolates[d] {
			continue
		}
		if p.Invalid != "" {
			n.invalid++
			continue
		}
		n.governing = append(n.governing, p)
		opens := reachOf(p.Allows[d])
		if opens != "" {
			n.openers = append(n.openers, opener{p, opens, true})
		}
		if opens == scopeAll {
			n.allowAll++
		} else {
			denying = append(denying, p.Subject)
		}
		if len(p.Subject) == 0 {
			everyPod = append(everyPod, p)
		}
	}
	n.present = coversAll(denying)
	n.open = n.reach(everyPod)
	return n
}

// reason returns why pods with the given labels are open, or the empty string if
// they are isolated and stay so.
func (n *denial) reason(labels snapshot.Labels) string {
	key := labels.Key()
	if r, ok := n.reasons[key]; ok {
		return r
	}
	r := n.judge(labels)
	n.reasons[key] = r
	return r
}

func (n *denial) judge(labels snapshot.Labels) string {
	if len(n.governing) == 0 {
		if n.invalid > 0 {
			return reasonInvalidPolicy
		}
		return reasonNoPolicy
	}
	var selecting []*snapshot.Policy
	for _, p := range n.governing {
		if p.Subject.Matches(labels) {
			selecting = append(selecting, p)
		}
	}
	if len(selecting) == 0 {
		return reasonNotSelected
	}
	return reasonOf(n.reach(selecting))
}

// reach returns how far policies open a pod together. Where none of them opens it
// so far by itself, those without which it would not be are noted as openers.
func (n *denial) reach(policies []*snapshot.Policy) scope {
	opens := reachOf(n.allows(policies))
	if opens == "" || slices.ContainsFunc(policies, func(p *snapshot.Policy) bool { return reachOf(p.Allows[n.direction]) == opens }) {
		return opens
	}
	for i, p := range policies {
		known := slices.ContainsFunc(n.openers, func(o opener) bool { return o.policy == p })
		if !known && reachOf(n.allows(slices.Delete(slices.Clone(policies), i, i+1))) != opens {
			n.openers = append(n.openers, opener{p, opens, false})
		}
	}
	return opens
}

// allows returns the rules of policies in the direction.
func (n *denial) allows(policies []*snapshot.Policy) []snapshot.Allow {
	var out []snapshot.Allow
	for _, p := range policies {
		out = append(out, p.Allows[n.direction]...)
	}
	return out
}

// reasonOf returns the reason for which an isolated pod is open again.
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
// nothing isolates it.
func scopeOf(reason string) scope {
	for _, s := range scopes() {
		if reasonOf(s) == reason {
			return s
		}
	}
	return ""
}
