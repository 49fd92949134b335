package snapshot

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// Snapshot is the frozen cluster of one sweep. Kinds were read at different
// moments: it is no snapshot across kinds.
type Snapshot struct {
	facts Facts
	reads map[Kind]Read
	parts map[Kind][]Kind // of kinds that stand for others
}

// Reads says how each kind was read, sorted by group and resource.
func (s *Snapshot) Reads() []Read {
	return slices.SortedFunc(maps.Values(s.reads), compareReads)
}

// Status says how a kind was read. A kind that was not asked for has Failed,
// for nothing is known of it, and one that stands for others has the status of
// the first of Unknown.
func (s *Snapshot) Status(kind Kind) Status {
	if unknown := s.Unknown(kind); len(unknown) > 0 {
		return unknown[0].Status
	}
	if _, ok := s.parts[kind]; ok {
		return Listed
	}
	return s.reads[kind].Status
}

// Version returns the version in which a kind was read, empty if it was not.
func (s *Snapshot) Version(kind Kind) string { return s.reads[kind].Version }

// Namespace returns the fact of the Namespace of that name, or nil. It is open
// to everybody who holds the snapshot, for an owner hangs on it.
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
	note(names, f.Ingresses, func(o *Ingress) *Meta { return &o.Meta })
	note(names, f.Policies, func(o *Policy) *Meta { return &o.Meta })
	note(names, f.Workloads, func(o *Workload) *Meta { return &o.Meta })
	note(names, f.Pods, func(o *Pod) *Meta { return &o.Meta })
	return slices.Sorted(maps.Keys(names))
}

func note[F any](names map[string]bool, facts []F, meta func(*F) *Meta) {
	last := ""
	for i := range facts {
		// They are sorted by namespace.
		if ns := meta(&facts[i]).Namespace; ns != last {
			names[ns] = true
			last = ns
		}
	}
}
