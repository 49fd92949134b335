package isolation

import (
	"slices"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// violation returns what is wrong with a direction of the namespace, and whether
// anything is.
func (n *namespaceDenial) violation(d snapshot.Direction, owner rules.Owner, in rules.Input) (rules.Violation, bool) {
	v := rules.Violation{
		Subject: n.subject(d),
		Owners:  []rules.Owner{owner},
	}
	defeats := n.defeats(d)
	switch {
	case n.denials[d].word() == rules.Missing:
		n.missing(&v, d)
	case n.denials[d].word() == rules.Partial:
		n.partial(&v, d)
	case n.off != nil:
		n.unenforced(&v, d)
	case len(defeats) > 0:
		n.defeated(&v, d, defeats)
	default:
		return rules.Violation{}, false
	}
	v.Objects = n.objects(d, in.Owner)
	var before rules.Previous
	if in.Previous != nil {
		before = in.Previous(n.meta.Name, d)
	}
	v.Cause = n.denyCause(&v, d, before, n.exposedObjects(d, in.Owner))
	return v, true
}

func (n *namespaceDenial) subject(d snapshot.Direction) rules.Subject {
	return rules.Subject{Kind: rules.SubjectNamespace, Name: n.meta.Name, Detail: d.String()}
}

// exposedObjects are the exposed workloads that a policy could isolate.
func (n *namespaceDenial) exposedObjects(d snapshot.Direction, ownerOf func(*snapshot.Meta) rules.Owner) []rules.Object {
	var out []rules.Object
	for _, e := range n.exposed[d] {
		if e.reason != reasonHostNetwork {
			out = append(out, rules.ObjectOf(e.workload.Meta, ownerOf(e.workload.Meta), e.reason, describeReason(e.reason)))
		}
	}
	return out
}

// objects are the exposed workloads and what opens them, be it policies or the
// setting that switches all of them off; the Namespace itself where there are
// none.
func (n *namespaceDenial) objects(d snapshot.Direction, ownerOf func(*snapshot.Meta) rules.Owner) []rules.Object {
	out := n.exposedObjects(d, ownerOf)
	named := map[snapshot.Ref]bool{}
	for _, o := range n.denials[d].openers {
		// The parts of an object are one object.
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
	if n.off != nil {
		out = append(out, rules.ObjectOf(&n.off.Meta, ownerOf(&n.off.Meta), reasonNotEnforced, "sets "+n.off.Off))
	}
	if len(out) == 0 {
		out = append(out, rules.ObjectOf(n.meta, ownerOf(n.meta), string(rules.Missing), ""))
	}
	slices.SortStableFunc(out, rules.CompareObjects)
	return out
}

func (n *namespaceDenial) countExposed(d snapshot.Direction) int {
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
		return "no policy governs it"
	case policy.ReasonNotSelected:
		return "no policy selects it"
	case policy.ReasonInvalidPolicy:
		return "no valid policy selects it"
	case policy.ReasonWorldNotDenied:
		return "open to the addresses outside the cluster, which nothing denies"
	case reasonNotEnforced:
		return "the network plugin is told to enforce nothing"
	}
	return "open to " + describeScope(policy.ScopeOf(reason))
}

func describeScope(s policy.Scope) string {
	switch s {
	case policy.ScopeAll:
		return "everybody on every port"
	case policy.ScopeWorld:
		return "the addresses outside the cluster"
	case policy.ScopeCluster:
		return "every pod of the cluster"
	case policy.ScopeTCP:
		return "everybody on every TCP port"
	}
	return "nobody"
}
