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
	Policies       []Policy
	Workloads      []Workload
	Pods           []Pod
}

// Builder collects the facts of one sweep. It may be used by several
// goroutines at once. The zero value is ready.
type Builder struct {
	mu    sync.Mutex
	facts Facts
	reads []Read
}

// Add hands over what was read of one kind, or of several at once where the
// source has them mixed. Facts of a kind whose status is not Listed must not
// be handed over: a part of the truth looks like the whole.
func (b *Builder) Add(facts Facts, reads ...Read) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts.Namespaces = append(b.facts.Namespaces, facts.Namespaces...)
	b.facts.Ingresses = append(b.facts.Ingresses, facts.Ingresses...)
	b.facts.IngressClasses = append(b.facts.IngressClasses, facts.IngressClasses...)
	b.facts.Policies = append(b.facts.Policies, facts.Policies...)
	b.facts.Workloads = append(b.facts.Workloads, facts.Workloads...)
	b.facts.Pods = append(b.facts.Pods, facts.Pods...)
	b.reads = append(b.reads, reads...)
}

// Freeze returns the snapshot and leaves the builder empty. An object that was
// handed over twice is in it once, as it was handed over last.
func (b *Builder) Freeze() *Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &Snapshot{facts: b.facts, reads: make(map[Kind]Read, len(b.reads))}
	for _, r := range b.reads {
		s.reads[r.Kind] = r
	}
	b.facts, b.reads = Facts{}, nil

	f := &s.facts
	f.Namespaces = arrange(f.Namespaces, func(o *Namespace) *Meta { return &o.Meta })
	f.Ingresses = arrange(f.Ingresses, func(o *Ingress) *Meta { return &o.Meta })
	f.IngressClasses = arrange(f.IngressClasses, func(o *IngressClass) *Meta { return &o.Meta })
	f.Policies = arrange(f.Policies, func(o *Policy) *Meta { return &o.Meta })
	f.Workloads = arrange(f.Workloads, func(o *Workload) *Meta { return &o.Meta })
	f.Pods = arrange(f.Pods, func(o *Pod) *Meta { return &o.Meta })
	return s
}

// arrange sorts facts by namespace, name, kind and group, and drops all but the
// last of those that are the same object.
func arrange[F any](facts []F, meta func(*F) *Meta) []F {
	slices.SortStableFunc(facts, func(a, b F) int { return meta(&a).Ref().Compare(meta(&b).Ref()) })
	kept := facts[:0]
	for i := range facts {
		if i+1 < len(facts) && meta(&facts[i]).Ref() == meta(&facts[i+1]).Ref() {
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
