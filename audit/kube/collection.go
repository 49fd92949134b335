package kube

import (
	"maps"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// outcome is what became of one kind. Facts are of a Listed kind only.
type outcome struct {
	facts snapshot.Facts
	read  snapshot.Read
	// more are kinds that have an outcome of their own beside those that were
	// asked for: see discovered.
	more []snapshot.Kind
}

// discovered has the place of a kind among those that are waited for, until it is
// known which kinds of policies are served that nothing here understands. Its
// outcome names those.
const discovered snapshot.Kind = ""

// collection hands the outcomes of one sweep over, and knows which are missing.
type collection struct {
	source  *Source
	builder *snapshot.Builder
	// waiting are the kinds without an outcome. True are those of policies that
	// nothing here understands.
	waiting map[snapshot.Kind]bool
}

func newCollection(s *Source, kinds []snapshot.Kind, b *snapshot.Builder) *collection {
	c := &collection{source: s, builder: b, waiting: map[snapshot.Kind]bool{discovered: false}}
	for _, kind := range kinds {
		c.waiting[kind] = false
	}
	return c
}

// kinds returns the kinds that are waited for and were asked for, sorted.
func (c *collection) kinds() []snapshot.Kind {
	kinds := slices.Sorted(maps.Keys(c.waiting))
	return slices.DeleteFunc(kinds, func(kind snapshot.Kind) bool { return kind == discovered })
}

func (c *collection) complete() bool { return len(c.waiting) == 0 }

// take hands an outcome over.
func (c *collection) take(o outcome) {
	unmodelled := c.waiting[o.read.Kind]
	delete(c.waiting, o.read.Kind)
	for _, kind := range o.more {
		c.waiting[kind] = true
	}
	switch {
	case o.read.Kind == discovered:
	case !unmodelled:
		c.source.add(o, c.builder)
	case o.read.Status.Known():
		c.builder.Add(o.facts)
	default:
		// Where they are is not known, so they may be about any namespace.
		facts := snapshot.Facts{Unsupported: []snapshot.Unsupported{{Kind: o.read.Kind}}}
		c.builder.Add(facts, o.read)
	}
}

// giveUp leaves all kinds Failed that have no outcome yet.
func (c *collection) giveUp() {
	for kind := range maps.Clone(c.waiting) {
		c.take(outcome{read: c.source.failed(kind, timedOut)})
	}
}
