package isolation

import (
	"fmt"
	"slices"

	"github.com/eventuallytrue/audit/rules/isolation/policy"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// unread are the objects that could not be read, by the namespaces of which they make it
// unknown what is denied and what is open.
type unread struct {
	own        map[string][]*snapshot.Fault // by namespace
	everywhere []*snapshot.Fault            // policies for several namespaces, and what may be in any
	tiers      []*snapshot.Fault
}

// newUnread returns the objects that could not be read, and further ones.
func newUnread(v *snapshot.View, more []snapshot.Fault) *unread {
	u := &unread{own: map[string][]*snapshot.Fault{}}
	faults := slices.Collect(v.Faults())
	for i := range more {
		faults = append(faults, &more[i])
	}
	for _, f := range faults {
		switch {
		case slices.Contains(snapshot.AddressSetKinds(), f.Resource):
			// A policy that refers to it has a doubt.
		case f.Resource == snapshot.CalicoTiers, f.Resource == snapshot.StoredCalicoTiers:
			u.tiers = append(u.tiers, f)
		case f.Resource == snapshot.Namespaces:
			u.own[f.Name] = append(u.own[f.Name], f)
		// The settings of Cilium apply to all pods.
		case f.Namespace == "" || f.Resource == snapshot.CiliumConfigs:
			u.everywhere = append(u.everywhere, f)
		default:
			u.own[f.Namespace] = append(u.own[f.Namespace], f)
		}
	}
	return u
}

// about returns the objects without which a direction of a namespace can't be evaluated,
// given its labels and its policies.
func (u *unread) about(namespace string, labels snapshot.Labels, d snapshot.Direction, set *policy.Set) []*snapshot.Fault {
	var out []*snapshot.Fault
	for _, f := range u.own[namespace] {
		if !f.Spares[d] {
			out = append(out, f)
		}
	}
	for _, f := range u.everywhere {
		if !f.Spares[d] && maySelect(f, labels.With(snapshot.NamespaceNameLabel, namespace)) {
			out = append(out, f)
		}
	}
	for _, f := range u.tiers {
		// Their order, and what happens at the end of the tier, are unknown.
		if slices.ContainsFunc(set.Policies(), func(p *snapshot.Policy) bool { return p.Group == f.Group && p.TierName == f.Name }) {
			out = append(out, f)
		}
	}
	return out
}

// maySelect reports whether a policy may select pods of a namespace with these labels.
func maySelect(f *snapshot.Fault, labels snapshot.Labels) bool {
	return len(f.Subject) == 0 || slices.ContainsFunc(f.Subject, func(p snapshot.PodPeer) bool { return p.Namespaces.Matches(labels) })
}

// maxNamed is how many objects that could not be read are named for one namespace.
const maxNamed = 5

// addUnread adds objects that could not be read, without which a direction can't be
// evaluated.
func (n *namespaceIsolation) addUnread(d snapshot.Direction, faults []*snapshot.Fault) {
	for i, f := range faults {
		n.notEvaluated[d] = append(n.notEvaluated[d], string(f.Resource))
		if i < maxNamed {
			n.unread[d] = append(n.unread[d], fmt.Sprintf("%s could not be read: %s", f.Ref, f.Reason))
		}
	}
	if more := len(faults) - maxNamed; more > 0 {
		n.unread[d] = append(n.unread[d], fmt.Sprintf("%d more objects could not be read", more))
	}
	n.notEvaluated[d] = sorted(n.notEvaluated[d])
}
