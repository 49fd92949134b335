package isolation

import (
	"fmt"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func (n *namespaceDenial) missing(v *rules.Violation, d snapshot.Direction) {
	v.Verdict = string(rules.Missing)
	word := strings.ToLower(d.String())
	exposed, set := n.countExposed(d), n.denials[d].set
	switch {
	case len(set.Policies()) == 0 && set.Invalid() > 0:
		v.Message = fmt.Sprintf("No valid policy denies %s in namespace %s: those there are cannot be in force.", word, n.meta.Name)
	case len(set.Policies()) == 0:
		v.Message = fmt.Sprintf("No policy denies %s in namespace %s.", word, n.meta.Name)
	default:
		v.Message = fmt.Sprintf("The policies of namespace %s do not deny %s to every pod: %s.",
			n.meta.Name, word, n.governed(d))
	}
	if exposed == 0 {
		v.Downgrade = 1
		v.Message += " Every workload of today is isolated, but the next pod may be open."
	} else {
		v.Message += " " + openOf(exposed, n.workloads)
	}
	v.Remedy = fmt.Sprintf("Add a NetworkPolicy with an empty podSelector and policyTypes [%s], and beside it one for each "+
		"connection that is needed. The sweep reads live objects and no admission cache, so a retry is not the answer: "+
		"the policy is not there.", d)
}

// governed says what the policies that bear on a direction do instead.
func (n *namespaceDenial) governed(d snapshot.Direction) string {
	narrow, all, other := n.denials[d].set.Tally()
	var parts []string
	if narrow > 0 {
		parts = append(parts, rules.CountVerb(narrow, "policy", "select")+" only some pods")
	}
	if all > 0 {
		parts = append(parts, rules.CountVerb(all, "policy", "admit")+" everything")
	}
	if other > 0 {
		parts = append(parts, rules.CountVerb(other, "policy", "leave")+" the rest to others")
	}
	return strings.Join(parts, ", ")
}

func (n *namespaceDenial) partial(v *rules.Violation, d snapshot.Direction) {
	v.Verdict = string(rules.Partial)
	word := strings.ToLower(d.String())
	v.Message = fmt.Sprintf("In namespace %s only the pods of the cluster are denied %s: the addresses outside are not.",
		n.meta.Name, word)
	if exposed := n.countExposed(d); exposed > 0 {
		v.Message += " " + openOf(exposed, n.workloads)
	}
	v.Downgrade = 1
	v.Remedy = fmt.Sprintf("Add a NetworkPolicy with an empty podSelector and policyTypes [%s].", d)
	if d == snapshot.DirectionIngress {
		v.Remedy += " Cluster-wide policies of this kind cannot name the outside as a peer of that direction."
	}
}

// openOf says how many of the workloads are open.
func openOf(open, all int) string {
	switch {
	case all == 1:
		return "Its one workload is open."
	case open == all:
		return fmt.Sprintf("All %d workloads are open.", all)
	case open == 1:
		return fmt.Sprintf("1 of %d workloads is open.", all)
	}
	return fmt.Sprintf("%d of %d workloads are open.", open, all)
}

func (n *namespaceDenial) defeated(v *rules.Violation, d snapshot.Direction, defeats []defeat) {
	v.Verdict = "defeated"
	widest, whom := defeats[0], "every pod"
	if widest.partial {
		whom = fmt.Sprintf("%d of %s", widest.workloads, rules.Count(n.workloads, "workload"))
	}
	v.Message = fmt.Sprintf("%s is denied by default in namespace %s, but allow rules beside it open it again to %s for %s.",
		d, n.meta.Name, describeScope(widest.scope), whom)
	v.Remedy = fmt.Sprintf("Narrow the %s rules of the policies listed here to the peers and ports that are needed, or remove them: "+
		"policies add up, so one allow-all is enough to undo every deny.", strings.ToLower(d.String()))
	v.Downgrade = widest.lighter(d)
	for _, f := range defeats {
		v.Downgrade = min(v.Downgrade, f.lighter(d))
	}
}

// lighter is by how many steps a defeat weighs less than everything for
// everybody.
func (f defeat) lighter(d snapshot.Direction) uint8 {
	var steps uint8
	if f.partial {
		steps++
	}
	if f.scope != policy.ScopeAll {
		steps++
	}
	// The internet on the way out is opened on purpose more often than not.
	if f.scope == policy.ScopeWorld && d == snapshot.DirectionEgress {
		steps++
	}
	return steps
}

func (n *namespaceDenial) unenforced(v *rules.Violation, d snapshot.Direction) {
	v.Verdict = "defeated"
	v.Message = fmt.Sprintf("%s is denied by default in namespace %s, but the network plugin enforces no policy: %s sets %q.",
		d, n.meta.Name, n.off.Ref(), n.off.Off)
	v.Remedy = "Have the network plugin enforce policies again. No policy of this namespace can help until then."
}
