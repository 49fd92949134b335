package isolation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// violation returns what is wrong with a direction of the namespace, if anything.
func (n *namespaceIsolation) violation(d snapshot.Direction, owner rules.Owner, in rules.Input) (rules.Violation, bool) {
	v := rules.Violation{
		Subject: n.subject(d),
		Owners:  []rules.Owner{owner},
	}
	defeats := n.openings(d)
	if !n.violated(d) {
		return rules.Violation{}, false
	}
	switch {
	case n.directions[d].state() == rules.Missing:
		n.missing(&v, d)
	case n.directions[d].state() == rules.Partial:
		n.partial(&v, d)
	case n.off != nil:
		n.unenforced(&v, d)
	default:
		n.defeated(&v, d, defeats)
	}
	v.Objects = n.objects(d, in.Owner)
	var before rules.Previous
	if in.Previous != nil {
		before = in.Previous(n.meta.Name, d)
	}
	v.Cause, v.CauseTail = n.cause(&v, d, before, n.exposedObjects(d, in.Owner))
	v.Message += v.MessageTail
	if n.meta.Deleting() {
		v.Cause = strings.TrimSpace(fmt.Sprintf("The Namespace is Terminating, %s, and its workloads still run. %s", n.meta.Deletion, v.Cause))
	}
	return v, true
}

// violated reports whether anything is wrong with a direction of the namespace.
func (n *namespaceIsolation) violated(d snapshot.Direction) bool {
	return n.directions[d].state() != rules.Present || n.off != nil || len(n.openings(d)) > 0
}

func (n *namespaceIsolation) subject(d snapshot.Direction) rules.Subject {
	return rules.Subject{Kind: rules.SubjectNamespace, Name: n.meta.Name, Detail: d.String()}
}

// exposedObjects are the exposed workloads that a policy could isolate.
func (n *namespaceIsolation) exposedObjects(d snapshot.Direction, ownerOf func(*snapshot.Meta) rules.Owner) []rules.Object {
	var out []rules.Object
	for _, e := range n.exposed[d] {
		if e.reason != reasonHostNetwork {
			out = append(out, rules.ObjectOf(e.workload.Meta, ownerOf(e.workload.Meta), e.reason, describeReason(e.reason)))
		}
	}
	return out
}

// objects are the exposed workloads and what opens them: policies, or the setting
// that disables all policies. If there are none, it is the Namespace itself.
func (n *namespaceIsolation) objects(d snapshot.Direction, ownerOf func(*snapshot.Meta) rules.Owner) []rules.Object {
	out := n.exposedObjects(d, ownerOf)
	named := map[snapshot.Ref]bool{}
	for _, o := range n.directions[d].allowAlls {
		// An object may hold several policies.
		if n.off != nil || named[o.Policy.Ref()] {
			continue
		}
		named[o.Policy.Ref()] = true
		admits := "admits "
		if !o.Alone {
			admits = "together with others admits "
		}
		out = append(out, rules.ObjectOf(&o.Policy.Meta, ownerOf(&o.Policy.Meta), policy.ReasonFor(o.Scope), admits+describeScope(o.Scope)))
	}
	off := n.directions[d].set.Off()
	if n.off != nil {
		off = []*snapshot.Enforcement{n.off}
	}
	for _, e := range off {
		out = append(out, rules.ObjectOf(&e.Meta, ownerOf(&e.Meta), policy.ReasonNotEnforced, "sets "+e.Off))
	}
	if len(out) == 0 {
		out = append(out, rules.ObjectOf(n.meta, ownerOf(n.meta), string(rules.Missing), ""))
	}
	slices.SortStableFunc(out, rules.CompareObjects)
	return out
}

func (n *namespaceIsolation) countExposed(d snapshot.Direction) int {
	count := 0
	for _, e := range n.exposed[d] {
		if e.reason != reasonHostNetwork {
			count++
		}
	}
	return count
}

func describeReason(reason string) string {
	switch reason {
	case policy.ReasonNoPolicy:
		return "no policy applies to it"
	case policy.ReasonNotSelected:
		return "no policy selects it"
	case policy.ReasonInvalidPolicy:
		return "no valid policy selects it"
	case policy.ReasonWorldNotDenied:
		return "open to addresses outside the cluster, which no policy denies"
	case policy.ReasonNotEnforced:
		return "the network plugin is configured not to enforce policies"
	}
	return "open to " + describeScope(policy.ScopeOf(reason))
}

func describeScope(s policy.Scope) string {
	switch s {
	case policy.ScopeAll:
		return "all peers on all ports"
	case policy.ScopeWorld:
		return "all addresses outside the cluster"
	case policy.ScopeCluster:
		return "every pod in the cluster"
	case policy.ScopeTCP:
		return "all peers on all TCP ports"
	}
	return "no one"
}

// maxInvalidReason bounds in bytes why a policy is said to be invalid.
const maxInvalidReason = 240

func (n *namespaceIsolation) missing(v *rules.Violation, d snapshot.Direction) {
	v.Verdict = string(rules.Missing)
	word := strings.ToLower(d.String())
	exposed, set := n.countExposed(d), n.directions[d].set
	switch {
	case len(set.Policies()) == 0 && len(set.Off()) > 0:
		v.Message = fmt.Sprintf("No policy that is enforced denies %s in namespace %s.", word, n.meta.Name)
	case len(set.Policies()) == 0 && len(set.Invalid()) > 0:
		v.Message = fmt.Sprintf("No valid policy denies %s in namespace %s: the existing ones are invalid and not enforced.", word, n.meta.Name)
	case len(set.Policies()) == 0:
		v.Message = fmt.Sprintf("No policy denies %s in namespace %s.", word, n.meta.Name)
	default:
		v.Message = fmt.Sprintf("The policies in namespace %s do not deny %s for every pod: %s.",
			n.meta.Name, word, n.describePolicies(d))
	}
	for i, p := range set.Invalid() {
		if i == maxNamed {
			v.Message += fmt.Sprintf(" So are %d more.", len(set.Invalid())-i)
			break
		}
		// A reason may quote a value of any length.
		v.Message += fmt.Sprintf(" %s is invalid: %s.", p.Ref(), strings.ToValidUTF8(p.Invalid[:min(len(p.Invalid), maxInvalidReason)], ""))
	}
	for _, e := range set.Off() {
		v.Message += fmt.Sprintf(" %s sets %q, so that policies of kind %s have no effect.", e.Ref(), e.Off, e.Kind)
	}
	if exposed == 0 {
		v.Downgrade = 1
		v.MessageTail = " Every current workload is isolated, but the next pod may be open."
	} else {
		v.MessageTail = " " + describeOpen(exposed, n.workloads)
	}
	v.Remedy = fmt.Sprintf("Add a NetworkPolicy with an empty podSelector and policyTypes [%s], and a policy for each "+
		"connection that workloads need.", d)
}

// describePolicies says what the policies that affect a direction do instead.
func (n *namespaceIsolation) describePolicies(d snapshot.Direction) string {
	narrow, all, other := n.directions[d].set.Tally()
	var parts []string
	if narrow > 0 {
		parts = append(parts, rules.CountVerb(narrow, "policy", "select")+" only some pods")
	}
	if all > 0 {
		parts = append(parts, rules.CountVerb(all, "policy", "admit")+" everything")
	}
	if other > 0 {
		parts = append(parts, rules.CountVerb(other, "policy", "leave")+" the rest to other policies")
	}
	return strings.Join(parts, ", ")
}

func (n *namespaceIsolation) partial(v *rules.Violation, d snapshot.Direction) {
	v.Verdict = string(rules.Partial)
	word := strings.ToLower(d.String())
	v.Message = fmt.Sprintf("In namespace %s, %s is denied only for pods of the cluster, not for addresses outside it.",
		n.meta.Name, word)
	if exposed := n.countExposed(d); exposed > 0 {
		v.MessageTail = " " + describeOpen(exposed, n.workloads)
	}
	v.Downgrade = 1
	v.Remedy = fmt.Sprintf("Add a NetworkPolicy with an empty podSelector and policyTypes [%s].", d)
	if d == snapshot.DirectionIngress {
		v.Remedy += " Cluster-wide policies of this kind can't select addresses outside the cluster as ingress peers."
	}
}

// describeOpen says how many of the workloads are open.
func describeOpen(open, all int) string {
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

func (n *namespaceIsolation) defeated(v *rules.Violation, d snapshot.Direction, defeats []opening) {
	v.Verdict = "defeated"
	widest, whom := defeats[0], "every pod"
	if widest.partial {
		whom = fmt.Sprintf("%d of %s", widest.workloads, rules.Count(n.workloads, "workload"))
	}
	v.Message = fmt.Sprintf("%s is denied by default in namespace %s, but other policies open it again to %s for ",
		d, n.meta.Name, describeScope(widest.scope))
	v.MessageTail = whom + "."
	v.Remedy = fmt.Sprintf("Narrow the %s rules of the listed policies to the peers and ports that workloads need, or remove them. "+
		"Policies add up: one allow-all undoes every deny.", strings.ToLower(d.String()))
	v.Downgrade = widest.downgrade(d)
	for _, f := range defeats {
		v.Downgrade = min(v.Downgrade, f.downgrade(d))
	}
}

// downgrade is by how many steps the severity is lower than for an opening of all
// pods to all peers.
func (f opening) downgrade(d snapshot.Direction) uint8 {
	var steps uint8
	if f.partial {
		steps++
	}
	if f.scope != policy.ScopeAll {
		steps++
	}
	// Egress to the internet is usually opened on purpose.
	if f.scope == policy.ScopeWorld && d == snapshot.DirectionEgress {
		steps++
	}
	return steps
}

func (n *namespaceIsolation) unenforced(v *rules.Violation, d snapshot.Direction) {
	v.Verdict = "defeated"
	v.Message = fmt.Sprintf("%s is denied by default in namespace %s, but the network plugin enforces no policies: %s sets %q.",
		d, n.meta.Name, n.off.Ref(), n.off.Off)
	v.Remedy = "Configure the network plugin to enforce policies again. Until then no policy in this namespace has any effect."
}

// The causes that a finding of this rule can have.
const (
	causeDenyDeleted = "deny-deleted"
	causeWorkload    = "workload-first"
)

// cause says what is known about how a direction came to be open, and when the
// exposed workloads were created. Deleted policies leave no trace, so most of this
// is known only from an earlier sweep. Without evidence no cause is named. It also
// returns the end of the cause that follows from the workloads.
func (n *namespaceIsolation) cause(v *rules.Violation, d snapshot.Direction, before rules.Previous, exposed []rules.Object) (cause, tail string) {
	if len(exposed) == 0 {
		return "", ""
	}
	arrivals := rules.Arrivals("exposed", exposed)
	first := n.directions[d].firstPolicy()
	_, newest := rules.Span(exposed)
	switch {
	case v.Verdict == "defeated":
		cause = n.openSince(d)
	case before.State == rules.Present:
		cause = fmt.Sprintf("%s: a sweep at %s found %s denied by default here. Since then the policy was deleted or narrowed.",
			causeDenyDeleted, rules.Timestamp(before.At), strings.ToLower(d.String()))
	case first != nil && !newest.IsZero() && newest.Before(first.Created):
		cause = fmt.Sprintf("%s: the exposed workloads were created before the first policy, %s of %s. %s",
			causeWorkload, first.Ref(), rules.Timestamp(first.Created), arrivals)
		return cause, cause
	}
	return strings.TrimSpace(cause + " " + arrivals), arrivals
}

// openSince says since when, at the earliest, a direction can have been open again.
func (n *namespaceIsolation) openSince(d snapshot.Direction) string {
	var last *snapshot.Policy
	for _, o := range n.directions[d].allowAlls {
		if last == nil || o.Policy.Created.After(last.Created) {
			last = o.Policy
		}
	}
	if last == nil || last.Created.IsZero() {
		return ""
	}
	return fmt.Sprintf("It is opened by %s, created %s.", last.Ref(), rules.Timestamp(last.Created))
}

// firstPolicy returns the oldest policy that affects the direction, nil if there is
// none or an age is not known.
func (n *directionIsolation) firstPolicy() *snapshot.Policy {
	var first *snapshot.Policy
	for _, p := range n.set.Policies() {
		if p.Created.IsZero() {
			return nil
		}
		if first == nil || p.Created.Before(first.Created) {
			first = p
		}
	}
	return first
}
