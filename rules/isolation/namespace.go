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
	meta       *snapshot.Meta        // of the Namespace; made up if manifests do not include it
	off        *snapshot.Enforcement // what disables all policies, or nil
	directions [2]*directionIsolation
	exposed    [2][]exposure         // in the order of the workloads
	workloads  int                   // live ones that a policy can isolate
	host       []*workloads.Workload // those with pods in the host network
	// notEvaluated are, by Direction, the kinds for which a direction could not be
	// evaluated. Of these, unsupported are kinds that the program does not read, and
	// whyNot describes what is wrong with the others.
	notEvaluated [2][]string
	unsupported  [2][]string
	whyNot       [2][]string
	// unread describes, by Direction, the objects that could not be read and without
	// which the direction could not be evaluated.
	unread [2][]string
}

// exposure is a workload that is open in one direction.
type exposure struct {
	workload *workloads.Workload
	reason   string
}

// evaluateNamespace evaluates one namespace by its policies in each direction, what
// disables them, if anything does, and its live workloads.
//
// Where the policies depend on something that is not known, it evaluates them as if that
// denied all it can, so that what it finds holds in any case. Where it depends on that
// whether anything is wrong, the direction is not evaluated.
func evaluateNamespace(meta *snapshot.Meta, off *snapshot.Enforcement, sets [2]*policy.Set, workloads []*workloads.Workload) *namespaceIsolation {
	others := max(len(sets[0].Others), len(sets[1].Others))
	if others == 0 {
		return evaluateSets(meta, off, sets, workloads)
	}
	var n *namespaceIsolation
	var violated [2]map[bool]bool
	for i := range others + 1 {
		reading := sets
		for d, set := range sets {
			if i < len(set.Others) {
				reading[d] = set.Others[i]
			}
		}
		read := evaluateSets(meta, off, reading, workloads)
		if i == 0 {
			n, violated = read, [2]map[bool]bool{{}, {}}
		}
		for _, d := range snapshot.Directions() {
			violated[d][read.violated(d)] = true
		}
	}
	for _, d := range snapshot.Directions() {
		if len(violated[d]) == 1 {
			continue
		}
		for _, doubt := range sets[d].Doubts {
			n.notEvaluated[d] = append(n.notEvaluated[d], string(doubt.Kind))
			if doubt.Why != "" {
				n.whyNot[d] = append(n.whyNot[d], doubt.Why)
			} else {
				n.unsupported[d] = append(n.unsupported[d], string(doubt.Kind))
			}
		}
		n.notEvaluated[d] = slices.Compact(n.notEvaluated[d])
	}
	return n
}

// addUnsupported adds unsupported kinds of policies that may open or deny anything in a
// direction.
func (n *namespaceIsolation) addUnsupported(d snapshot.Direction, kinds []string) {
	if len(kinds) > 0 {
		n.notEvaluated[d] = sorted(slices.Concat(n.notEvaluated[d], kinds))
		n.unsupported[d] = sorted(slices.Concat(n.unsupported[d], kinds))
	}
}

// sorted returns the texts sorted and each once, in place.
func sorted(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// describeNotEvaluated says which directions were not evaluated, and why. It is empty if
// both were.
func (n *namespaceIsolation) describeNotEvaluated() string {
	var why [2]string
	for _, d := range snapshot.Directions() {
		parts := slices.Concat(n.whyNot[d], n.unread[d])
		if len(n.unsupported[d]) > 0 {
			parts = append([]string{"the namespace may be subject to policies of unsupported kinds: " +
				strings.Join(n.unsupported[d], ", ")}, parts...)
		}
		if len(n.notEvaluated[d]) > 0 {
			why[d] = strings.Join(parts, "; ")
		}
	}
	switch in, out := why[snapshot.DirectionIngress], why[snapshot.DirectionEgress]; {
	case in == out && in == "":
		return ""
	case in == out:
		return "default-deny was not evaluated: " + in
	case in == "":
		return "default-deny was not evaluated for egress: " + out
	case out == "":
		return "default-deny was not evaluated for ingress: " + in
	default:
		return "default-deny was not evaluated for ingress: " + in + "; nor for egress: " + out
	}
}

// evaluateSets evaluates one namespace by given sets of policies.
func evaluateSets(meta *snapshot.Meta, off *snapshot.Enforcement, sets [2]*policy.Set, workloads []*workloads.Workload) *namespaceIsolation {
	n := &namespaceIsolation{meta: meta, off: off}
	for _, w := range workloads {
		if w.HostNetwork {
			n.host = append(n.host, w)
		}
		if len(w.Pods) > 0 {
			n.workloads++
		}
	}
	for _, d := range snapshot.Directions() {
		n.directions[d] = newDirection(sets[d])
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
// of its pods. Those in the host's network count only if no other one is open, since
// no policy would help.
func (n *directionIsolation) workloadReason(w *workloads.Workload) string {
	worst := ""
	for _, pod := range w.Pods {
		if r := n.reason(pod); rank(r) > rank(worst) {
			worst = r
		}
	}
	if worst == "" && w.HostNetwork {
		return reasonHostNetwork
	}
	return worst
}

// rank orders reasons from isolated to open without any policy.
func rank(reason string) int {
	return slices.Index([]string{
		"", policy.ReasonAllowAllTCP, policy.ReasonAllowCluster, policy.ReasonAllowWorld, policy.ReasonWorldNotDenied, policy.ReasonAllowAll,
		policy.ReasonNotSelected, policy.ReasonInvalidPolicy, policy.ReasonNoPolicy, policy.ReasonNotEnforced,
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
	case reason == reasonHostNetwork || reason == policy.ReasonNotEnforced:
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

		NotEvaluated: n.notEvaluated,
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

// reasonHostNetwork is the reason for which a workload is open whatever its policies
// say, besides those of package policy.
const reasonHostNetwork = "host-network"

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

// reason returns why such pods are open, empty if they are isolated.
func (n *directionIsolation) reason(pod workloads.Pod) string {
	if n.off {
		return policy.ReasonNotEnforced
	}
	reason, openers := n.set.Pod(pod.Labels, pod.ServiceAccount)
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
