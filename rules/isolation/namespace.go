package isolation

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
	"github.com/eventuallytrue/audit/rules/workloads"
)

// namespaceIsolation is everything that default-deny-present knows about one
// namespace.
type namespaceIsolation struct {
	meta        *snapshot.Meta // of the Namespace; made up if manifests do not include it
	terminating bool
	off         *snapshot.Enforcement // what disables all policies, or nil
	directions  [2]*directionIsolation
	exposed     [2][]exposure         // in the order of the workloads
	workloads   int                   // live ones that a policy can isolate
	host        []*workloads.Workload // those in the host network
	unsupported []string              // kinds of policies that were not evaluated
}

// exposure is a workload that is open in one direction.
type exposure struct {
	workload *workloads.Workload
	reason   string
}

// evaluateNamespace evaluates one namespace by its policies in each direction, what
// disables them, if anything does, and its live workloads.
func evaluateNamespace(meta *snapshot.Meta, off *snapshot.Enforcement, rulings [2]*policy.Set, workloads []*workloads.Workload) *namespaceIsolation {
	n := &namespaceIsolation{meta: meta, off: off}
	for _, w := range workloads {
		if w.HostNetwork {
			n.host = append(n.host, w)
		} else {
			n.workloads++
		}
	}
	for _, d := range snapshot.Directions() {
		n.directions[d] = newDirection(rulings[d])
		n.directions[d].enforce(off == nil)
		for _, w := range workloads {
			if reason := n.directions[d].workloadReason(w); reason != "" {
				n.exposed[d] = append(n.exposed[d], exposure{w, reason})
			}
		}
	}
	return n
}

// workloadReason returns why a workload is open: the worst that is true of any
// of its pods.
func (n *directionIsolation) workloadReason(w *workloads.Workload) string {
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

// opening is one scope in which allow rules open a direction again.
type opening struct {
	scope policy.Scope
	// workloads counts those open at least this far; partial is true if others are
	// not and the next pod would not be either.
	workloads int
	partial   bool
}

// openings returns how allow rules open a direction of a namespace again, the
// widest scope first: all pods may be open to the internet, and some to everyone.
func (n *namespaceIsolation) openings(d snapshot.Direction) []opening {
	var out []opening
	open, everyPod := 0, false
	for _, s := range policy.Scopes() {
		met := n.directions[d].open == s
		everyPod = everyPod || met
		for _, e := range n.exposed[d] {
			if n.opened(d, e.reason) == s {
				open++
				met = true
			}
		}
		if met {
			out = append(out, opening{scope: s, workloads: open, partial: !everyPod && open < n.workloads})
		}
	}
	return out
}

// opened returns how far a workload is open despite a deny. If every pod is denied
// and it is open without a rule that opens it, the deny is never reached.
func (n *namespaceIsolation) opened(d snapshot.Direction, reason string) policy.Scope {
	s := policy.ScopeOf(reason)
	switch {
	case s != "" || n.directions[d].state() != rules.Present:
		return s
	case reason == policy.ReasonWorldNotDenied:
		return policy.ScopeWorld
	case reason == reasonHostNetwork || reason == reasonNotEnforced:
		return ""
	}
	return policy.ScopeAll
}

// row returns the namespace's row of the report.
func (n *namespaceIsolation) row(exempt bool) rules.Isolation {
	row := rules.Isolation{
		Namespace: n.meta.Name,
		Workloads: n.workloads,
		Ingress:   n.directions[snapshot.DirectionIngress].state(),
		Egress:    n.directions[snapshot.DirectionEgress].state(),
		Exempt:    exempt,
		Exposed:   n.exposedRows(),

		NotEvaluated: n.unsupported,
	}
	var widest policy.Scope
	var whole [2]bool
	some := false
	for _, d := range snapshot.Directions() {
		for _, f := range n.openings(d) {
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

// exposedRows returns the exposed workloads by kind, name and direction. One that is
// open in both directions for the same reason is listed once.
func (n *namespaceIsolation) exposedRows() []rules.Exposed {
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

// The reasons for which a workload is open whatever its policies say, besides those
// of package policy.
const (
	reasonNotEnforced = "not-enforced" // the network plugin is configured to enforce nothing
	reasonHostNetwork = "host-network"
)

// directionIsolation is what policies do in one namespace and direction.
type directionIsolation struct {
	set       *policy.Set
	open      policy.Scope      // how far the policies that select every pod open it again
	allowAlls []policy.AllowAll // policies that open the pods they select here
	named     map[*snapshot.Policy]bool
	off       bool // policies are not enforced
}

// newDirection returns what a set of policies, which namespaces may share, does.
func newDirection(r *policy.Set) *directionIsolation {
	open, openers := r.EveryPod()
	n := &directionIsolation{set: r, open: open, named: map[*snapshot.Policy]bool{}}
	n.addAllowAlls(openers)
	return n
}

// enforce says whether policies are enforced. If not, existing policies still count
// as present, and all of them are defeated.
func (n *directionIsolation) enforce(enforced bool) {
	if n.off = !enforced; n.off {
		n.open = policy.ScopeAll
	}
}

// reason returns why pods with the given labels are open, empty if they are
// isolated.
func (n *directionIsolation) reason(labels snapshot.Labels) string {
	if n.off {
		return reasonNotEnforced
	}
	reason, openers := n.set.Pod(labels)
	n.addAllowAlls(openers)
	return reason
}

func (n *directionIsolation) addAllowAlls(openers []policy.AllowAll) {
	for _, o := range openers {
		if !n.named[o.Policy] {
			n.named[o.Policy] = true
			n.allowAlls = append(n.allowAlls, o)
		}
	}
}

// state returns how far the direction is denied. It is partial if only the pods of
// the cluster are denied.
func (n *directionIsolation) state() rules.IsolationState {
	switch pods, internet := n.set.Denies(); {
	case pods && internet:
		return rules.Present
	case pods:
		return rules.Partial
	}
	return rules.Missing
}
