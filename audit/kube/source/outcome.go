package source

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// outcome is the result of reading one kind. It has facts only if the kind is Listed.
type outcome struct {
	facts snapshot.Facts
	read  snapshot.Read
	// more are kinds that nobody requested, which have an outcome of their own beside the
	// requested ones: see discovered.
	more []extra
}

// extra is a kind that nobody requested and of which it matters whether there are objects:
// an unsupported kind of policies, or one that carries hosts and is not read.
type extra struct {
	kind snapshot.Kind
	// unread returns what to add if the kind could not be read.
	unread func(snapshot.Read) (snapshot.Facts, []snapshot.Read)
}

// discovered takes the place of a kind among those that have no outcome yet, until
// discovery has named the extra kinds. Its outcome lists them.
const discovered snapshot.Kind = ""

const (
	timedOut   = "timed out before the list was complete"
	noReader   = "this kind cannot be read from an API server"
	noCluster  = "the server does not know this kind, which every Kubernetes API server serves: is it a Kubernetes API server?"
	unreliable = "the server responds that it does not know this kind, but discovery says that it serves it"
)

// readKind reads a kind that has a typed client. It distinguishes the ways in which
// that can end: absent is as good as none, while forbidden and failed say nothing
// about what exists.
func (s *Source) readKind(ctx context.Context, kind snapshot.Kind) outcome {
	res, ok := s.typed[kind]
	if !ok {
		return outcome{read: s.failed(kind, noReader)}
	}
	facts, items, err := kube.ReadAll(ctx, s.client, res.open(s.client.Clientset(), s.ingester()))
	if apierrors.IsNotFound(err) {
		return outcome{read: s.notFound(ctx, res)}
	}
	if err != nil {
		return outcome{read: s.unread(ctx, kind, err)}
	}
	return outcome{
		facts: facts,
		read:  snapshot.Read{Kind: kind, Version: res.version, Status: snapshot.Listed, Items: items},
	}
}

// notFound interprets a 404. It comes from an API server that does not serve the
// kind, but also from anything else that listens at a wrong address.
func (s *Source) notFound(ctx context.Context, res resource) snapshot.Read {
	if res.everywhere {
		return s.failed(res.kind, noCluster)
	}
	served, err := s.client.Serves(ctx, res.kind, res.version)
	switch {
	case err != nil:
		return s.unread(ctx, res.kind, err)
	case served:
		return s.failed(res.kind, unreliable)
	}
	return snapshot.Read{Kind: res.kind, Version: res.version, Status: snapshot.Absent}
}

// unread describes why a kind could not be read.
func (s *Source) unread(ctx context.Context, kind snapshot.Kind, err error) snapshot.Read {
	if ctx.Err() != nil {
		return s.failed(kind, timedOut)
	}
	read := s.failed(kind, kube.Reason(err))
	if apierrors.IsForbidden(err) {
		read.Status = snapshot.Forbidden
	}
	return read
}

func (s *Source) failed(kind snapshot.Kind, why string) snapshot.Read {
	return snapshot.Read{Kind: kind, Version: s.typed[kind].version, Status: snapshot.Failed, Err: why}
}

// collection adds the outcomes of one sweep to a snapshot, and knows which are
// missing.
type collection struct {
	source  *Source
	builder *snapshot.Builder
	// waiting are the kinds without an outcome. The value is nil for requested ones.
	waiting map[snapshot.Kind]*extra
}

func newCollection(s *Source, kinds []snapshot.Kind, b *snapshot.Builder) *collection {
	c := &collection{source: s, builder: b, waiting: map[snapshot.Kind]*extra{discovered: nil}}
	for _, kind := range kinds {
		c.waiting[kind] = nil
	}
	return c
}

// kinds returns the requested kinds that have no outcome yet, sorted.
func (c *collection) kinds() []snapshot.Kind {
	kinds := slices.Sorted(maps.Keys(c.waiting))
	return slices.DeleteFunc(kinds, func(kind snapshot.Kind) bool { return kind == discovered })
}

func (c *collection) complete() bool { return len(c.waiting) == 0 }

// take adds an outcome.
func (c *collection) take(o outcome) {
	unrequested := c.waiting[o.read.Kind]
	delete(c.waiting, o.read.Kind)
	for _, e := range o.more {
		c.waiting[e.kind] = &e
	}
	switch {
	case o.read.Kind == discovered:
	case unrequested == nil:
		c.add(o)
	case o.read.Status.Known():
		c.builder.Add(o.facts)
	default:
		facts, reads := unrequested.unread(o.read)
		c.builder.Add(facts, reads...)
	}
}

// add adds the outcome of a requested kind. A built-in host source that is not
// served is left out: nobody asked for it.
func (c *collection) add(o outcome) {
	if host, ok := c.source.hosts[o.read.Kind]; ok {
		switch {
		case host.BuiltIn && o.read.Status == snapshot.Absent:
			return
		// It was only to be counted: what is missing makes nothing unknown.
		case host.Unread && o.read.Status.Known():
			c.builder.Add(o.facts)
			return
		case host.Unread:
			c.builder.Add(uncounted(host, o.read))
			return
		}
		c.builder.Expand(snapshot.HostSources, o.read.Kind)
	}
	c.builder.Add(o.facts, o.read)
}

// giveUp marks all kinds Failed that have no outcome yet.
func (c *collection) giveUp() {
	for kind := range maps.Clone(c.waiting) {
		c.take(outcome{read: c.source.failed(kind, timedOut)})
	}
}
