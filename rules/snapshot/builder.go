package snapshot

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Facts are facts in any order, as a source adds them. A source fills the fields
// of the kinds it read.
type Facts struct {
	Namespaces        []Namespace
	Ingresses         []Ingress
	IngressClasses    []IngressClass
	ClassParams       []IngressClassParams
	Gateways          []Gateway
	ListenerSets      []ListenerSet
	Routes            []Route
	HostObjects       []HostObject
	UnreadHosts       []UnreadHosts
	IstioGateways     []IstioGateway
	Policies          []Policy
	Tiers             []Tier
	AddressSets       []AddressSet
	Unsupported       []Unsupported
	Enforcements      []Enforcement
	AdmissionControls []AdmissionControl
	AdmissionBindings []AdmissionBinding
	Templates         []ConstraintTemplate
	Replications      []Replication
	Workloads         []Workload
	Pods              []Pod
	Faults            []Fault // of any kind
}

// Append adds more facts. It may keep the given lists.
func (f *Facts) Append(more Facts) {
	f.Namespaces = joined(f.Namespaces, more.Namespaces)
	f.Ingresses = joined(f.Ingresses, more.Ingresses)
	f.IngressClasses = joined(f.IngressClasses, more.IngressClasses)
	f.ClassParams = joined(f.ClassParams, more.ClassParams)
	f.Gateways = joined(f.Gateways, more.Gateways)
	f.ListenerSets = joined(f.ListenerSets, more.ListenerSets)
	f.Routes = joined(f.Routes, more.Routes)
	f.HostObjects = joined(f.HostObjects, more.HostObjects)
	f.UnreadHosts = joined(f.UnreadHosts, more.UnreadHosts)
	f.IstioGateways = joined(f.IstioGateways, more.IstioGateways)
	f.Policies = joined(f.Policies, more.Policies)
	f.Tiers = joined(f.Tiers, more.Tiers)
	f.AddressSets = joined(f.AddressSets, more.AddressSets)
	f.Unsupported = joined(f.Unsupported, more.Unsupported)
	f.Enforcements = joined(f.Enforcements, more.Enforcements)
	f.AdmissionControls = joined(f.AdmissionControls, more.AdmissionControls)
	f.AdmissionBindings = joined(f.AdmissionBindings, more.AdmissionBindings)
	f.Templates = joined(f.Templates, more.Templates)
	f.Replications = joined(f.Replications, more.Replications)
	f.Workloads = joined(f.Workloads, more.Workloads)
	f.Pods = joined(f.Pods, more.Pods)
	f.Faults = joined(f.Faults, more.Faults)
}

// joined returns both lists as one. A single list is returned as it is: a copy
// would double the memory.
func joined[F any](list, more []F) []F {
	if len(list) == 0 {
		return slices.Clip(more)
	}
	return append(list, more...)
}

// Builder collects the facts of one sweep. It may be used by several
// goroutines at once. The zero value is ready.
type Builder struct {
	mu    sync.Mutex
	facts Facts
	reads []Read
	parts map[Kind][]Kind // of kinds that stand for others
}

// Add adds what was read of one kind, or of several if the source has them mixed.
// Facts of a kind whose status is not Listed must not be added: a part would look
// like the whole.
func (b *Builder) Add(facts Facts, reads ...Read) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts.Append(facts)
	b.reads = append(b.reads, reads...)
}

// Progress returns how many kinds and objects were added so far.
func (b *Builder) Progress() (kinds, objects int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.reads {
		objects += r.Items
	}
	return len(b.reads), objects
}

// Freeze returns the snapshot and leaves the builder empty. An object that was
// added twice is in it once, as it was added last.
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
	f.ClassParams = arrange(f.ClassParams, func(o *IngressClassParams) *Meta { return &o.Meta })
	f.Gateways = arrange(f.Gateways, func(o *Gateway) *Meta { return &o.Meta })
	f.ListenerSets = arrange(f.ListenerSets, func(o *ListenerSet) *Meta { return &o.Meta })
	f.Routes = arrange(f.Routes, func(o *Route) *Meta { return &o.Meta })
	f.HostObjects = arrange(f.HostObjects, func(o *HostObject) *Meta { return &o.Meta })
	f.UnreadHosts = joinUnreadHosts(f.UnreadHosts)
	f.IstioGateways = arrange(f.IstioGateways, func(o *IstioGateway) *Meta { return &o.Meta })
	f.Tiers = arrange(f.Tiers, func(o *Tier) *Meta { return &o.Meta })
	f.AddressSets = arrange(f.AddressSets, func(o *AddressSet) *Meta { return &o.Meta })
	f.Policies = arrange(f.Policies, func(o *Policy) *Meta { return &o.Meta })
	dropDuplicates(f)
	placeTiers(f.Policies, f.Tiers)
	f.Enforcements = arrange(f.Enforcements, func(o *Enforcement) *Meta { return &o.Meta })
	slices.SortFunc(f.Unsupported, compareUnsupported)
	f.Unsupported = slices.Compact(f.Unsupported)
	f.AdmissionControls = arrange(f.AdmissionControls, func(o *AdmissionControl) *Meta { return &o.Meta })
	f.AdmissionBindings = arrange(f.AdmissionBindings, func(o *AdmissionBinding) *Meta { return &o.Meta })
	f.Templates = arrange(f.Templates, func(o *ConstraintTemplate) *Meta { return &o.Meta })
	f.Replications = arrange(f.Replications, func(o *Replication) *Meta { return &o.Meta })
	f.Workloads = arrange(f.Workloads, func(o *Workload) *Meta { return &o.Meta })
	f.Pods = arrange(f.Pods, func(o *Pod) *Meta { return &o.Meta })
	slices.SortFunc(f.Faults, Fault.Compare)
	f.Faults = slices.CompactFunc(f.Faults, func(a, b Fault) bool { return a.Compare(b) == 0 })
	return s
}

// arrange sorts facts by namespace, name, kind and group, and keeps only the last
// fact of the same object, or of the same part of it.
func arrange[F any](facts []F, meta func(*F) *Meta) []F {
	compare := func(i, j int) int { return compareMeta(meta(&facts[i]), meta(&facts[j])) }
	if ascending(len(facts), compare) {
		return facts
	}
	order := make([]int, len(facts))
	for i := range order {
		order[i] = i
	}
	// Facts are large, so indexes are sorted instead.
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(compare(i, j), cmp.Compare(i, j)) })
	kept := make([]F, 0, len(facts))
	for n, i := range order {
		if n+1 < len(order) && compare(i, order[n+1]) == 0 {
			continue
		}
		kept = append(kept, facts[i])
	}
	return kept
}

// ascending reports whether n things are already sorted, as most lists from an API
// server are.
func ascending(n int, compare func(i, j int) int) bool {
	for i := 1; i < n; i++ {
		if compare(i-1, i) >= 0 {
			return false
		}
	}
	return true
}

func compareMeta(a, b *Meta) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Group, b.Group), cmp.Compare(a.Part, b.Part))
}

// compareReads orders reads by group and resource.
func compareReads(a, b Read) int {
	return cmp.Or(strings.Compare(a.Kind.Group(), b.Kind.Group()), strings.Compare(string(a.Kind), string(b.Kind)))
}

// Expand says that a kind stands for others, in addition to those given before. It
// has no Read of its own: it is known if all of them are. A kind that stands for
// none is known and empty.
func (b *Builder) Expand(kind Kind, into ...Kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.parts == nil {
		b.parts = map[Kind][]Kind{}
	}
	b.parts[kind] = append(b.parts[kind], into...)
}
