package snapshot

import (
	"iter"
	"maps"
	"slices"
	"sort"
	"strings"
)

// Snapshot is the frozen cluster of one sweep. Kinds were read at different times:
// there is no snapshot across kinds.
type Snapshot struct {
	facts Facts
	reads map[Kind]Read
	parts map[Kind][]Kind // of kinds that stand for others
}

// Reads says how each kind was read, sorted by group and resource.
func (s *Snapshot) Reads() []Read {
	return slices.SortedFunc(maps.Values(s.reads), compareReads)
}

// Status says how a kind was read. A kind that was not read has Failed, since
// nothing is known about it; one that stands for others has the status of the
// first of Unknown.
func (s *Snapshot) Status(kind Kind) Status {
	if unknown := s.Unknown(kind); len(unknown) > 0 {
		return unknown[0].Status
	}
	if _, ok := s.parts[kind]; ok {
		return Listed
	}
	return s.reads[kind].Status
}

// Faults are the objects that could not be read, sorted.
func (s *Snapshot) Faults() []Fault { return s.facts.Faults }

// Version returns the version in which a kind was read, empty if it was not.
func (s *Snapshot) Version(kind Kind) string { return s.reads[kind].Version }

// Namespaces yields every Namespace, sorted by name.
func (s *Snapshot) Namespaces() iter.Seq[*Namespace] { return each(s.facts.Namespaces) }

// Namespace returns the fact of the Namespace of that name, or nil. It is
// available to every holder of the snapshot, since owners depend on it.
func (s *Snapshot) Namespace(name string) *Namespace {
	list := s.facts.Namespaces
	i, ok := sort.Find(len(list), func(i int) int { return strings.Compare(name, list[i].Name) })
	if !ok {
		return nil
	}
	return &list[i]
}

// View returns the snapshot as a rule may see it: only the given kinds.
func (s *Snapshot) View(kinds ...Kind) *View {
	v := &View{s: s, open: make(map[Kind]bool, len(kinds)), read: make(map[Kind]bool, len(kinds))}
	for _, k := range kinds {
		v.open[k] = true
	}
	return v
}

// NamespaceNames returns the name of every Namespace, and of every namespace
// that an object is in though its Namespace was not read, sorted.
func (s *Snapshot) NamespaceNames() []string {
	names := map[string]bool{}
	f := &s.facts
	for i := range f.Namespaces {
		names[f.Namespaces[i].Name] = true
	}
	addNamespaces(names, f.Ingresses, func(o *Ingress) *Meta { return &o.Meta })
	addNamespaces(names, f.Policies, func(o *Policy) *Meta { return &o.Meta })
	addNamespaces(names, f.Workloads, func(o *Workload) *Meta { return &o.Meta })
	addNamespaces(names, f.Pods, func(o *Pod) *Meta { return &o.Meta })
	for i := range f.Faults {
		if ns := f.Faults[i].Namespace; ns != "" {
			names[ns] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func addNamespaces[F any](names map[string]bool, facts []F, meta func(*F) *Meta) {
	last := ""
	for i := range facts {
		// They are sorted by namespace.
		if ns := meta(&facts[i]).Namespace; ns != last {
			names[ns] = true
			last = ns
		}
	}
}

// Part is a part of a kind: the objects of one namespace, or all of them if
// Namespace is empty. For Namespaces it is the one of that name.
type Part struct {
	Kind      Kind
	Namespace string
}

// Plural returns the resource of a kind by the usual convention: "Ingress" becomes
// "ingresses".
func Plural(kind string) string {
	kind = strings.ToLower(kind)
	switch {
	case strings.HasSuffix(kind, "params"): // a plural already
		return kind
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	case strings.HasSuffix(kind, "y") && !strings.HasSuffix(kind, "ay"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

// Resource returns the kind that the object belongs to.
func (m *Meta) Resource() Kind { return KindOf(m.Group, Plural(m.Kind)) }

// Patched returns a snapshot in which the given parts are as they were read again,
// and everything else is as it was. A part that could not be read again stays as
// it was, and so does the status of each kind.
func (s *Snapshot) Patched(parts []Part, fresh *Builder) *Snapshot {
	again := map[Part]bool{}
	for _, p := range parts {
		again[p] = true
	}
	old := func(kind Kind, r Ref) bool {
		namespace := r.Namespace
		if kind == Namespaces {
			namespace = r.Name
		}
		return !again[Part{kind, namespace}] && !again[Part{Kind: kind}]
	}
	var b Builder
	b.Add(s.facts.filtered(func(m *Meta) bool { return old(m.Resource(), m.Ref()) }))
	for _, f := range s.facts.Faults {
		if old(f.Resource, f.Ref) {
			b.facts.Faults = append(b.facts.Faults, f)
		}
	}
	fresh.mu.Lock()
	b.Add(fresh.facts)
	fresh.mu.Unlock()
	patched := b.Freeze()
	patched.reads, patched.parts = s.reads, s.parts
	return patched
}

// With returns a snapshot with further policies and replications, each in place of the one
// of the same object, if there is one. It shares all other facts, and the status of each
// kind stays as it is.
func (s *Snapshot) With(policies []Policy, replications []Replication) *Snapshot {
	with := &Snapshot{facts: s.facts, reads: s.reads, parts: s.parts}
	f := &with.facts
	f.Policies = arrange(slices.Concat(f.Policies, policies), func(o *Policy) *Meta { return &o.Meta })
	f.Replications = arrange(slices.Concat(f.Replications, replications), func(o *Replication) *Meta { return &o.Meta })
	return with
}

// filtered returns the facts of the objects for which a function returns true.
// Facts that belong to no object are kept, and faults left out.
func (f *Facts) filtered(keep func(*Meta) bool) Facts {
	return Facts{
		Namespaces:        filter(f.Namespaces, keep, func(o *Namespace) *Meta { return &o.Meta }),
		Ingresses:         filter(f.Ingresses, keep, func(o *Ingress) *Meta { return &o.Meta }),
		IngressClasses:    filter(f.IngressClasses, keep, func(o *IngressClass) *Meta { return &o.Meta }),
		ClassParams:       filter(f.ClassParams, keep, func(o *IngressClassParams) *Meta { return &o.Meta }),
		Gateways:          filter(f.Gateways, keep, func(o *Gateway) *Meta { return &o.Meta }),
		ListenerSets:      filter(f.ListenerSets, keep, func(o *ListenerSet) *Meta { return &o.Meta }),
		Routes:            filter(f.Routes, keep, func(o *Route) *Meta { return &o.Meta }),
		HostObjects:       filter(f.HostObjects, keep, func(o *HostObject) *Meta { return &o.Meta }),
		IstioGateways:     filter(f.IstioGateways, keep, func(o *IstioGateway) *Meta { return &o.Meta }),
		Policies:          filter(f.Policies, keep, func(o *Policy) *Meta { return &o.Meta }),
		Tiers:             filter(f.Tiers, keep, func(o *Tier) *Meta { return &o.Meta }),
		AddressSets:       filter(f.AddressSets, keep, func(o *AddressSet) *Meta { return &o.Meta }),
		AdmissionControls: filter(f.AdmissionControls, keep, func(o *AdmissionControl) *Meta { return &o.Meta }),
		AdmissionBindings: filter(f.AdmissionBindings, keep, func(o *AdmissionBinding) *Meta { return &o.Meta }),
		Templates:         filter(f.Templates, keep, func(o *ConstraintTemplate) *Meta { return &o.Meta }),
		Replications:      filter(f.Replications, keep, func(o *Replication) *Meta { return &o.Meta }),
		Enforcements:      filter(f.Enforcements, keep, func(o *Enforcement) *Meta { return &o.Meta }),
		Workloads:         filter(f.Workloads, keep, func(o *Workload) *Meta { return &o.Meta }),
		Pods:              filter(f.Pods, keep, func(o *Pod) *Meta { return &o.Meta }),
		Unsupported:       slices.Clone(f.Unsupported),
		UnreadHosts:       slices.Clone(f.UnreadHosts),
	}
}

func filter[F any](facts []F, keep func(*Meta) bool, meta func(*F) *Meta) []F {
	var out []F
	for i := range facts {
		if keep(meta(&facts[i])) {
			out = append(out, facts[i])
		}
	}
	return out
}

// Unknown returns the reads that make a kind unknown: its own if it was not
// complete, or those of the kinds that it stands for, in the order of Reads.
func (s *Snapshot) Unknown(kind Kind) []Read {
	parts, ok := s.parts[kind]
	if !ok {
		parts = []Kind{kind}
	}
	var unknown []Read
	for _, part := range parts {
		r, ok := s.reads[part]
		if !ok {
			r = Read{Kind: part, Status: Failed, Err: "it was not asked for"}
		}
		if !r.Status.Known() {
			unknown = append(unknown, r)
		}
	}
	slices.SortFunc(unknown, compareReads)
	return unknown
}
