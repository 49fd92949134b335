package rules

import (
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
	*ruling
	open    scope    // how far the policies that select every pod open it again
	openers []opener // policies that open what they select here
	named   map[*snapshot.Policy]bool
	off     bool // policies are not enforced
}

// newDenial returns the denial of a namespace by a ruling, which others may share.
func newDenial(r *ruling) *denial {
	n := &denial{ruling: r, open: r.everyPod.byRule, named: map[*snapshot.Policy]bool{}}
	n.name(r.everyPod.openers)
	return n
}

// enforce says whether policies are enforced. Where they are not, those that
// there are still count as asked for, and all of them are defeated.
func (n *denial) enforce(enforced bool) {
	if n.off = !enforced; n.off {
		n.open = scopeAll
	}
}

// reason returns why pods with the given labels are open, or the empty string if
// they are isolated and stay so.
func (n *denial) reason(labels snapshot.Labels) string {
	if n.off {
		return reasonNotEnforced
	}
	j := n.judge(labels)
	n.name(j.openers)
	return j.reason(n.untouched)
}

func (n *denial) name(openers []opener) {
	for _, o := range openers {
		if !n.named[o.policy] {
			n.named[o.policy] = true
			n.openers = append(n.openers, o)
		}
	}
}

// word returns the denial as the report spells it. One that holds only the pods
// of the cluster off is partial.
func (n *denial) word() IsolationState {
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
