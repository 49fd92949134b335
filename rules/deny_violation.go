package rules

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// violation returns what is wrong with a direction of the namespace, and whether
// anything is.
func (n *namespaceDenial) violation(d snapshot.Direction, owner Owner, in Input) (Violation, bool) {
	v := Violation{
		Subject: n.subject(d),
		Owners:  []Owner{owner},
	}
	defeats := n.defeats(d)
	switch {
	case n.denials[d].word() == Missing:
		n.missing(&v, d)
	case n.denials[d].word() == Partial:
		n.partial(&v, d)
	case n.off != nil:
		n.unenforced(&v, d)
	case len(defeats) > 0:
		n.defeated(&v, d, defeats)
	default:
		return Violation{}, false
	}
	v.Objects = n.objects(d, in.Owner)
	v.Cause = n.denyCause(&v, d, in.before(n.meta.Name, d), n.exposedObjects(d, in.Owner))
	return v, true
}

func (n *namespaceDenial) subject(d snapshot.Direction) Subject {
	return Subject{Kind: SubjectNamespace, Name: n.meta.Name, Detail: d.String()}
}

// exposedObjects are the exposed workloads that a policy could isolate.
func (n *namespaceDenial) exposedObjects(d snapshot.Direction, ownerOf func(*snapshot.Meta) Owner) []Object {
	var out []Object
	for _, e := range n.exposed[d] {
		if e.reason != reasonHostNetwork {
			out = append(out, objectOf(e.workload.meta, ownerOf(e.workload.meta), e.reason, describeReason(e.reason)))
		}
	}
	return out
}

// objects are the exposed workloads and what opens them, be it policies or the
// setting that switches all of them off; the Namespace itself where there are
// none.
func (n *namespaceDenial) objects(d snapshot.Direction, ownerOf func(*snapshot.Meta) Owner) []Object {
	out := n.exposedObjects(d, ownerOf)
	named := map[snapshot.Ref]bool{}
	for _, o := range n.denials[d].openers {
		// The parts of an object are one object.
		if n.off != nil || named[o.policy.Ref()] {
			continue
		}
		named[o.policy.Ref()] = true
		admits := "admits "
		if !o.alone {
			admits = "together with others admits "
		}
		out = append(out, objectOf(&o.policy.Meta, ownerOf(&o.policy.Meta), reasonOf(o.scope), admits+describeScope(o.scope)))
	}
	if n.off != nil {
		out = append(out, objectOf(&n.off.Meta, ownerOf(&n.off.Meta), reasonNotEnforced, "sets "+n.off.Off))
	}
	if len(out) == 0 {
		out = append(out, objectOf(n.meta, ownerOf(n.meta), string(Missing), ""))
	}
	slices.SortStableFunc(out, CompareObjects)
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
	case reasonNoPolicy:
		return "no policy governs it"
	case reasonNotSelected:
		return "no policy selects it"
	case reasonInvalidPolicy:
		return "no valid policy selects it"
	case reasonWorldNotDenied:
		return "open to the addresses outside the cluster, which nothing denies"
	case reasonNotEnforced:
		return "the network plugin is told to enforce nothing"
	}
	return "open to " + describeScope(scopeOf(reason))
}

func describeScope(s scope) string {
	switch s {
	case scopeAll:
		return "everybody on every port"
	case scopeWorld:
		return "the addresses outside the cluster"
	case scopeCluster:
		return "every pod of the cluster"
	case scopeTCP:
		return "everybody on every TCP port"
	}
	return "nobody"
}
