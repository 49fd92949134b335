package hosts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// An object claims until it is gone. While a finalizer holds it, or its Namespace, it is
// served: ingress-nginx only skips its admission check for an Ingress that is being
// deleted, and Traefik does not look. Its owner may even change its hosts. So a deletion
// says no more than that a claim may soon be gone.

// leaving is what a claim rests on that is being deleted.
type leaving struct {
	// objects are the claimant, what it attaches to, and their Namespaces.
	objects []*snapshot.Meta
	// fresh is true if one of them may be gone soon, because its deletion is not stuck.
	fresh bool
}

// leavingOf returns what of some objects, all of which a claim needs, is being deleted.
// An object in a Namespace that is being deleted is deleted with it, but does not go
// sooner if it is being deleted itself.
func (c *claims) leavingOf(objects ...*snapshot.Meta) leaving {
	var l leaving
	for _, m := range objects {
		if m == nil {
			continue
		}
		deletion := m.Deletion
		if m.Deleting() {
			l.objects = append(l.objects, m)
		}
		if ns := c.view.Namespace(m.Namespace); ns != nil && ns.Deleting() {
			if !slices.Contains(l.objects, &ns.Meta) {
				l.objects = append(l.objects, &ns.Meta)
			}
			if deletion == nil {
				deletion = ns.Deletion
			}
		}
		l.fresh = l.fresh || deletion != nil && deletion.Fresh(c.now)
	}
	return l
}

// orElse returns what a claim rests on that can be made in two ways: that of the way
// that lasts longer.
func (l leaving) orElse(o leaving) leaving {
	if len(l.objects) == 0 || o.fresh && !l.fresh {
		return l
	}
	return o
}

// describeDeletion says that an object is being deleted.
func describeDeletion(m *snapshot.Meta) string {
	if m.Kind == "Namespace" {
		return m.Ref().String() + " is Terminating, " + m.Deletion.String()
	}
	return m.Ref().String() + " is " + m.Deletion.String()
}

// describeLeaving says for the message of a finding what of the claimants is being
// deleted, or returns "".
func describeLeaving(oldest []*claim) string {
	var metas []*snapshot.Meta
	for _, c := range oldest {
		for _, m := range c.leaving.objects {
			if !slices.Contains(metas, m) && len(metas) <= namedClaimants {
				metas = append(metas, m)
			}
		}
	}
	if len(metas) == 0 {
		return ""
	}
	var parts []string
	for _, m := range metas[:min(len(metas), namedClaimants)] {
		parts = append(parts, describeDeletion(m))
	}
	text := " " + strings.Join(parts, "; ")
	if len(metas) > namedClaimants {
		text += "; and others are being deleted"
	}
	return text + ". Controllers may serve an object until it is gone."
}

// settled returns the claims that are not about to go.
func settled(list []*claim) []*claim {
	fresh := func(c *claim) bool { return c.leaving.fresh }
	if !slices.ContainsFunc(list, fresh) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), fresh)
}

// releaseHeld is what the remedy of a finding adds if something holds a deletion.
func releaseHeld(list []*claim) string {
	for _, c := range list {
		for _, m := range c.leaving.objects {
			if m.Deletion.Held != "" {
				return fmt.Sprintf(" If the deletion of %s does not end, find out why its finalizers are not removed.", m.Ref())
			}
		}
	}
	return ""
}

// leavingAs returns what of a claimant is being deleted, for its detail in a finding.
func (c *claim) leavingAs() []string {
	var parts []string
	for _, m := range c.leaving.objects {
		if m == c.object {
			parts = append(parts, m.Deletion.String())
			continue
		}
		parts = append(parts, describeDeletion(m))
	}
	return parts
}
