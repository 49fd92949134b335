package snapshot

import (
	"slices"
	"strings"
)

// Part is a part of a kind: the objects of one namespace, or all of them where
// Namespace is empty. Of Namespaces it is the one of that name.
type Part struct {
	Kind      Kind
	Namespace string
}

// Plural returns the resource of a kind of objects, as resources are called by
// habit: "Ingress" becomes "ingresses".
func Plural(kind string) string {
	kind = strings.ToLower(kind)
	switch {
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	case strings.HasSuffix(kind, "y") && !strings.HasSuffix(kind, "ay"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

// Resource returns the kind that the object belongs to.
func (m *Meta) Resource() Kind { return KindOf(m.Group, Plural(m.Kind)) }

// Patched returns a snapshot in which the given parts are as they were read
// again, and all else is as it was. A part that could not be read again stays as
// it was, and so does what a part of a kind says of the kind as a whole.
func (s *Snapshot) Patched(parts []Part, fresh *Builder) *Snapshot {
	again := map[Part]bool{}
	for _, p := range parts {
		again[p] = true
	}
	old := func(m *Meta) bool {
		kind := m.Resource()
		namespace := m.Namespace
		if kind == Namespaces {
			namespace = m.Name
		}
		return !again[Part{kind, namespace}] && !again[Part{Kind: kind}]
	}
	var b Builder
	b.Add(s.facts.filtered(old))
	fresh.mu.Lock()
	b.Add(fresh.facts)
	fresh.mu.Unlock()
	patched := b.Freeze()
	patched.reads, patched.parts = s.reads, s.parts
	return patched
}

// filtered returns the facts of the objects that a function holds for. Facts
// that belong to no one object stay.
func (f *Facts) filtered(keep func(*Meta) bool) Facts {
	return Facts{
		Namespaces:        only(f.Namespaces, keep, func(o *Namespace) *Meta { return &o.Meta }),
		Ingresses:         only(f.Ingresses, keep, func(o *Ingress) *Meta { return &o.Meta }),
		IngressClasses:    only(f.IngressClasses, keep, func(o *IngressClass) *Meta { return &o.Meta }),
		Gateways:          only(f.Gateways, keep, func(o *Gateway) *Meta { return &o.Meta }),
		ListenerSets:      only(f.ListenerSets, keep, func(o *ListenerSet) *Meta { return &o.Meta }),
		Routes:            only(f.Routes, keep, func(o *Route) *Meta { return &o.Meta }),
		HostObjects:       only(f.HostObjects, keep, func(o *HostObject) *Meta { return &o.Meta }),
		Policies:          only(f.Policies, keep, func(o *Policy) *Meta { return &o.Meta }),
		Tiers:             only(f.Tiers, keep, func(o *Tier) *Meta { return &o.Meta }),
		AdmissionControls: only(f.AdmissionControls, keep, func(o *AdmissionControl) *Meta { return &o.Meta }),
		AdmissionBindings: only(f.AdmissionBindings, keep, func(o *AdmissionBinding) *Meta { return &o.Meta }),
		Templates:         only(f.Templates, keep, func(o *ConstraintTemplate) *Meta { return &o.Meta }),
		Replications:      only(f.Replications, keep, func(o *Replication) *Meta { return &o.Meta }),
		Enforcements:      only(f.Enforcements, keep, func(o *Enforcement) *Meta { return &o.Meta }),
		Workloads:         only(f.Workloads, keep, func(o *Workload) *Meta { return &o.Meta }),
		Pods:              only(f.Pods, keep, func(o *Pod) *Meta { return &o.Meta }),
		Unsupported:       slices.Clone(f.Unsupported),
	}
}

func only[F any](facts []F, keep func(*Meta) bool, meta func(*F) *Meta) []F {
	var out []F
	for i := range facts {
		if keep(meta(&facts[i])) {
			out = append(out, facts[i])
		}
	}
	return out
}
