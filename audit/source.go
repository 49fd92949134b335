package audit

import (
	"context"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Source is where the objects of a sweep come from: a live API server, or
// manifests.
type Source interface {
	// Read hands the facts of the given kinds to the builder, with how each of
	// them was read. A kind that cannot be read is no error but a Read that
	// says so; an error means that the sweep was ended from outside and
	// nothing may be judged. Which kinds snapshot.HostSources stands for the
	// source knows, and says by Builder.Expand.
	Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (Reading, error)
}

// Reading is what a source met beside the facts.
type Reading struct {
	Problems []Problem
	Ignored  []IgnoredKind
}
