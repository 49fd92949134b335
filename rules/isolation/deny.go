package isolation

import (
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// The reasons for which a workload is open whatever its policies say, besides
// those of package policy.
const (
	reasonNotEnforced = "not-enforced" // the network plugin is configured to enforce nothing
	reasonHostNetwork = "host-network"
)

// denial is what policies do in one namespace and direction.
type denial struct {
	set     *policy.Set
	open    policy.Scope      // how far the policies that select every pod open it again
	openers []policy.AllowAll // policies that open what they select here
	named   map[*snapshot.Policy]bool
	off     bool // policies are not enforced
}

// newDenial returns the denial of a namespace by a ruling, which others may share.
func newDenial(r *policy.Set) *denial {
	open, openers := r.EveryPod()
	n := &denial{set: r, open: open, named: map[*snapshot.Policy]bool{}}
	n.name(openers)
	return n
}

// enforce says whether policies are enforced. Where they are not, those that
// there are still count as asked for, and all of them are defeated.
func (n *denial) enforce(enforced bool) {
	if n.off = !enforced; n.off {
		n.open = policy.ScopeAll
	}
}

// reason returns why pods with the given labels are open, or the empty string if
// they are isolated and stay so.
func (n *denial) reason(labels snapshot.Labels) string {
	if n.off {
		return reasonNotEnforced
	}
	reason, openers := n.set.Pod(labels)
	n.name(openers)
	return reason
}

func (n *denial) name(openers []policy.AllowAll) {
	for _, o := range openers {
		if !n.named[o.Policy] {
			n.named[o.Policy] = true
			n.openers = append(n.openers, o)
		}
	}
}

// word returns the denial as the report spells it. One that holds only the pods
// of the cluster off is partial.
func (n *denial) word() rules.IsolationState {
	switch pods, internet := n.set.Denies(); {
	case pods && internet:
		return rules.Present
	case pods:
		return rules.Partial
	}
	return rules.Missing
}
