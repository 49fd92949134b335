package kube

import (
	"fmt"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// add hands over what became of a kind. One of a host source that nobody asked
// for is passed over in silence where it is not served.
func (s *Source) add(o outcome, b *snapshot.Builder) {
	if source, ok := s.hosts[o.read.Kind]; ok {
		if source.BuiltIn && o.read.Status == snapshot.Absent {
			return
		}
		b.Expand(snapshot.HostSources, o.read.Kind)
	}
	b.Add(o.facts, o.read)
}

// misfit says in what the kind of a host source is another one than the server
// has; empty if it is in nothing, and for all other kinds.
func (s *Source) misfit(o *offer, c *ingest.Custom) string {
	served, ok := o.served[c.Kind]
	if _, host := s.hosts[c.Kind]; !ok || !host {
		return ""
	}
	switch {
	case !served.namespaced:
		return "its objects are in no namespace, and so nobody's: they cannot be a source of hosts"
	case served.object != c.Object:
		return fmt.Sprintf("its objects are of kind %s, not %s", served.object, c.Object)
	}
	return ""
}
