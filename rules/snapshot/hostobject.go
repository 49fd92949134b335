package snapshot

import (
	"iter"
	"slices"
)

// HostSources stands for all kinds whose objects claim hosts in a way that only
// the config knows: which kinds those are differs from cluster to cluster, so no
// rule can name them. A source says which they are by Builder.Expand.
const HostSources Kind = "hostsources.eventuallytrue.dev"

// HostObject is the fact of an object of one of the kinds behind HostSources:
// what it claims, as it is written.
type HostObject struct {
	Meta
	// Hosts are the hosts it claims, sorted. None of them is empty.
	Hosts []HostPattern
	// Odd are the first few things it claims that are no hosts and cannot be
	// compared with any, such as a regular expression, for people. Empty where
	// there is nothing of the kind.
	Odd []string
	// Err is why nothing is known of what it claims; empty for an object that
	// could be read.
	Err string
}

// HostPattern is a host that an object claims.
type HostPattern struct {
	Host string
	// Deep is true of a wildcard that covers any number of labels and not just
	// one.
	Deep bool
}

// FromHostSource is the source of what a HostObject claims.
const FromHostSource HostSource = "host-source"

// Expand says that a kind stands for others, and adds to those that were said
// before. It has no Read of its own: it is known if all of them are. A kind that
// stands for none is known, and there is nothing of it.
func (b *Builder) Expand(kind Kind, into ...Kind) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.parts == nil {
		b.parts = map[Kind][]Kind{}
	}
	b.parts[kind] = append(b.parts[kind], into...)
}

// Unknown returns the reads because of which it is not known what there is of a
// kind: its own if it was not complete, and for a kind that stands for others
// theirs. They are in the order of Reads.
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

// HostObjects yields every object of the kinds behind HostSources.
func (v *View) HostObjects() iter.Seq[*HostObject] {
	v.ask(HostSources)
	return each(v.s.facts.HostObjects)
}
