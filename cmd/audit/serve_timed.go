package main

import (
	"context"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// timed is a source that may be read for so long and no longer. What is not read
// by then is unknown, and the rest of the sweep still has time.
type timed struct {
	source audit.Source
	limit  time.Duration
}

// Read implements audit.Source.
func (t timed) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.limit, context.DeadlineExceeded)
	defer cancel()
	return t.source.Read(ctx, kinds, b)
}
