package snapshot

import (
	"iter"
	"slices"
)

// HostSources stands for all kinds whose objects claim hosts as the config
// describes. Which kinds these are differs from cluster to cluster, so no rule can
// name them; the source says so with Builder.Expand.
const HostSources Kind = "hostsources.eventuallytrue.dev"

// HostObject is the fact of an object of one of the kinds behind HostSources: what
// it claims, as written.
type HostObject struct {
	Meta
	// Hosts are the hosts it claims, sorted. None of them is empty.
	Hosts []HostPattern
	// Odd are the first few claimed values that are not hosts and can't be
	// compared with any, such as regular expressions.
	Odd []string
	// Err is why it is not known what the object claims, empty if it could be
	// read.
	Err string
}

// HostPattern is a host that an object claims.
type HostPattern struct {
	Host string
	// Deep is true for a wildcard that covers any number of labels instead of one.
	Deep bool
}

// FromHostSource is the source of what a HostObject claims.
const FromHostSource HostSource = "host-source"

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

// HostObjects yields every object of the kinds behind HostSources.
func (v *View) HostObjects() iter.Seq[*HostObject] {
	v.ask(HostSources)
	return each(v.s.facts.HostObjects)
}
