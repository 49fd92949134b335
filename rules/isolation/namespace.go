package isolation

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
	"github.com/eventuallytrue/audit/rules/workloads"
)

// namespaceDenial is everything that default-deny-present knows of one
// namespace.
type namespaceDenial struct {
	meta        *snapshot.Meta // of the Namespace; made up where manifests hold none
	terminating bool
	off         *snapshot.Enforcement // what switches all policies off, or nil
	denials     [2]*denial
	exposed     [2][]exposure         // in the order of the workloads
	workloads   int                   // live ones that a policy can isolate
	host        []*workloads.Workload // those in the host's network
	unmodelled  []string              // kinds of policies that were not judged
}

// exposure is a workload that is open in one direction.
type exposure struct {
	workload *workloads.Workload
	reason   string
}

// judgeNamespace judges one namespace by the rulings on its policies, what switches
// them off, if anything does, and its live workloads.
func judgeNamespace(meta *snapshot.Meta, off *snapshot.Enforcement, rulings [2]*policy.Set, workloads []*workloads.Workload) *namespaceDenial {
	n := &namespaceDenial{meta: meta, off: off}
	for _, w := range workloads {
		if w.HostNetwork {
			n.host = append(n.host, w)
		} else {
			n.workloads++
		}
	}
	for _, d := range snapshot.Directions() {
		n.denials[d] = newDenial(rulings[d])
		n.denials[d].enforce(off == nil)
		for _, w := range workloads {
			if reason := n.denials[d].workloadReason(w); reason != "" {
				n.exposed[d] = append(n.exposed[d], exposure{w, reason})
			}
		}
	}
	return n
}

// workloadReason returns why a workload is open: the worst that is true of any
// of its pods.
func (n *denial) workloadReason(w *workloads.Workload) string {
	if w.HostNetwork {
		return reasonHostNetwork
	}
	worst := ""
	for _, labels := range w.Pods {
		if r := n.reason(labels); rank(r) > rank(worst) {
			worst = r
		}
	}
	return worst
}

// rank orders reasons from isolated to open without any policy.
func rank(reason string) int {
	return slices.Index([]string{
		"", policy.ReasonAllowAllTCP, policy.ReasonAllowCluster, policy.ReasonAllowWorld, policy.ReasonWorldNotDenied, policy.ReasonAllowAll,
		policy.ReasonNotSelected, policy.ReasonInvalidPolicy, policy.ReasonNoPolicy, reasonNotEnforced, reasonHostNetwork,
	}, reason)
}

// defeat is one scope in which allow rules open a direction again.
type defeat struct {
	scope policy.Scope
	// workloads are those open at least so far; partial is true where some are
	// not, and no rule for every pod would open the next one.
	workloads int
	partial   bool
}

// defeats returns how allow rules open a direction of a namespace again, the
// widest scope first: all pods may be open to the world and some to everybody.
func (n *namespaceDenial) defeats(d snapshot.Direction) []defeat {
	var out []defeat
	open, everyPod := 0, false
	for _, s := range policy.Scopes() {
		met := n.denials[d].open == s
		everyPod = everyPod || met
		for _, e := range n.exposed[d] {
			if n.opened(d, e.reason) == s {
				open++
				met = true
			}
		}
		if met {
			out = append(out, defeat{scope: s, workloads: open, partial: !everyPod && open < n.workloads})
		}
	}
	return out
}

// opened returns how far a workload is open in spite of a deny. Where every pod is
// denied and it is open all the same without a rule that says so, what denies is
// passed by.
func (n *namespaceDenial) opened(d snapshot.Direction, reason string) policy.Scope {
	s := policy.ScopeOf(reason)
	switch {
	case s != "" || n.denials[d].word() != rules.Present:
		return s
	case reason == policy.ReasonWorldNotDenied:
		return policy.ScopeWorld
	case reason == reasonHostNetwork || reason == reasonNotEnforced:
		return ""
	}
	return policy.ScopeAll
}

// row returns the namespace's row of the report.
func (n *namespaceDenial) row(exempt bool) rules.Isolation {
	row := rules.Isolation{
		Namespace: n.meta.Name,
		Workloads: n.workloads,
		Ingress:   n.denials[snapshot.DirectionIngress].word(),
		Egress:    n.denials[snapshot.DirectionEgress].word(),
		Exempt:    exempt,
		Exposed:   n.exposedRows(),

		NotEvaluated: n.unmodelled,
	}
	var widest policy.Scope
	var whole [2]bool
	some := false
	for _, d := range snapshot.Directions() {
		for _, f := range n.defeats(d) {
			widest = policy.Wider(widest, f.scope)
			whole[d] = whole[d] || !f.partial
			some = true
		}
	}
	row.Scope = string(widest)
	switch {
	case whole[snapshot.DirectionIngress] && whole[snapshot.DirectionEgress]:
		row.Open = "both"
	case whole[snapshot.DirectionIngress]:
		row.Open = "ingress"
	case whole[snapshot.DirectionEgress]:
		row.Open = "egress"
	case some:
		row.Open = "partial"
	default:
		row.Open = "none"
	}
	return row
}

// exposedRows returns the exposed workloads sorted by kind, name and direction;
// one that is open in both directions for one reason stands once.
func (n *namespaceDenial) exposedRows() []rules.Exposed {
	var out []rules.Exposed
	outward := map[*workloads.Workload]string{}
	for _, e := range n.exposed[snapshot.DirectionEgress] {
		outward[e.workload] = e.reason
	}
	row := func(w *workloads.Workload, direction, reason string) {
		out = append(out, rules.Exposed{Kind: w.Meta.Kind, Name: w.Meta.Name, Direction: direction, Reason: reason})
	}
	for _, e := range n.exposed[snapshot.DirectionIngress] {
		if outward[e.workload] == e.reason {
			row(e.workload, "both", e.reason)
			delete(outward, e.workload)
			continue
		}
		row(e.workload, "ingress", e.reason)
	}
	for _, e := range n.exposed[snapshot.DirectionEgress] {
		if outward[e.workload] != "" {
			row(e.workload, "egress", e.reason)
		}
	}
	slices.SortFunc(out, func(a, b rules.Exposed) int {
		return strings.Compare(a.Kind+"\x00"+a.Name+"\x00"+a.Direction, b.Kind+"\x00"+b.Name+"\x00"+b.Direction)
	})
	return out
}
