package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Facts are facts in any order, as a source hands them over. A source fills
// the fields of the kinds it read.
type Facts struct {
	Namespaces     []Namespace
	Ingresses      []Ingress
	IngressClasses []IngressClass
	Gateways       []Gateway
	ListenerSets   []ListenerSet
	Routes         []Route
	HostObjects    []HostObject
	Policies       []Policy
	Tiers          []Tier
	Unmodelled     []Unmodelled
	Enforcements   []Enforcement
	Gates          []Gate
	GateBindings   []GateBinding
	Templates      []ConstraintTemplate
	Replications   []Replication
	Workloads      []Workload
	Pods           []Pod
}

// Append adds more facts.
func (f *Facts) Append(more Facts) {
	f.Namespaces = append(f.Namespaces, more.Namespaces...)
	f.Ingresses = append(f.Ingresses, more.Ingresses...)
	f.IngressClasses = append(f.IngressClasses, more.IngressClasses...)
	f.Gateways = append(f.Gateways, more.Gateways...)
	f.ListenerSets = append(f.ListenerSets, more.ListenerSets...)
	f.Routes = append(f.Routes, more.Routes...)
	f.HostObjects = append(f.HostObjects, more.HostObjects...)
	f.Policies = append(f.Policies, more.Policies...)
	f.Tiers = append(f.Tiers, more.Tiers...)
	f.Unmodelled = append(f.Unmodelled, more.Unmodelled...)
	f.Enforcements = append(f.Enforcements, more.Enforcements...)
	f.Gates = append(f.Gates, more.Gates...)
	f.GateBindings = append(f.GateBindings, more.GateBindings...)
	f.Templates = append(f.Templates, more.Templates...)
	f.Replications = append(f.Replications, more.Replications...)
	f.Workloads = append(f.Workloads, more.Workloads...)
	f.Pods = append(f.Pods, more.Pods...)
}

// Builder collects the facts of one sweep. It may be used by several
// goroutines at once. The zero value is ready.
type Builder struct {
	mu    sync.Mutex
	facts Facts
	reads []Read
	parts map[Kind][]Kind // of kinds that stand for others
}

// Add hands over what was read of one kind, or of several at once where the
// source has them mixed. Facts of a kind whose status is not Listed must not
// be handed over: a part of the truth looks like the whole.
func (b *Builder) Add(facts Facts, reads ...Read) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts.Append(facts)
	b.reads = append(b.reads, reads...)
}

// Freeze returns the snapshot and leaves the builder empty. An object that was
// handed over twice is in it once, as it was handed over last.
func (b *Builder) Freeze() *Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Snapshot{facts: b.facts, reads: make(map[Kind]Read, len(b.reads)), parts: b.parts}
	for _, r := range b.reads {
		s.reads[r.Kind] = r
	}
	b.facts, b.reads, b.parts = Facts{}, nil, nil

	f := &s.facts
	f.Namespaces = arrange(f.Namespaces, func(o *Namespace) *Meta { return &o.Meta })
	f.Ingresses = arrange(f.Ingresses, func(o *Ingress) *Meta { return &o.Meta })
	f.IngressClasses = arrange(f.IngressClasses, func(o *IngressClass) *Meta { return &o.Meta })
	f.Gateways = arrange(f.Gateways, func(o *Gateway) *Meta { return &o.Meta })
	f.ListenerSets = arrange(f.ListenerSets, func(o *ListenerSet) *Meta { return &o.Meta })
	f.Routes = arrange(f.Routes, func(o *Route) *Meta { return &o.Meta })
	f.HostObjects = arrange(f.HostObjects, func(o *HostObject) *Meta { return &o.Meta })
	f.Tiers = arrange(f.Tiers, func(o *Tier) *Meta { return &o.Meta })
	f.Policies = arrange(f.Policies, func(o *Policy) *Meta { return &o.Meta })
	dropTwins(f)
	place(f.Policies, f.Tiers)
	f.Enforcements = arrange(f.Enforcements, func(o *Enforcement) *Meta { return &o.Meta })
	slices.SortFunc(f.Unmodelled, compareUnmodelled)
	f.Unmodelled = slices.Compact(f.Unmodelled)
	f.Gates = arrange(f.Gates, func(o *Gate) *Meta { return &o.Meta })
	f.GateBindings = arrange(f.GateBindings, func(o *GateBinding) *Meta { return &o.Meta })
	f.Templates = arrange(f.Templates, func(o *ConstraintTemplate) *Meta { return &o.Meta })
	f.Replications = arrange(f.Replications, func(o *Replication) *Meta { return &o.Meta })
	f.Workloads = arrange(f.Workloads, func(o *Workload) *Meta { return &o.Meta })
	f.Pods = arrange(f.Pods, func(o *Pod) *Meta { return &o.Meta })
	return s
}

// arrange sorts facts by namespace, name, kind and group, and drops all but the
// last of those that are the same object, or the same part of it.
func arrange[F any](facts []F, meta func(*F) *Meta) []F {
	compare := func(a, b *F) int {
		return cmp.Or(meta(a).Ref().Compare(meta(b).Ref()), cmp.Compare(meta(a).Part, meta(b).Part))
	}
	slices.SortStableFunc(facts, func(a, b F) int { return compare(&a, &b) })
	kept := facts[:0]
	for i := range facts {
		if i+1 < len(facts) && compare(&facts[i], &facts[i+1]) == 0 {
			continue
		}
		kept = append(kept, facts[i])
	}
	clear(facts[len(kept):])
	return kept
}

// compareReads orders reads by group and resource.
func compareReads(a, b Read) int {
	return cmp.Or(strings.Compare(a.Kind.Group(), b.Kind.Group()), strings.Compare(string(a.Kind), string(b.Kind)))
}
