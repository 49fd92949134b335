package manifests

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// entries returns the entries of all kinds that can be taken in during one
// reading, which ends with the context.
func (s *Source) entries(ctx context.Context) map[schema.GroupVersionKind]entry {
	m := entryMap()
	for i := range s.HostSources {
		addCustom(m, ingest.HostKind(ctx, &s.HostSources[i]))
	}
	return m
}

// expand puts the kinds of the host sources in the place of the one kind that
// stands for them, if that is among the kinds asked for.
func (s *Source) expand(kinds []snapshot.Kind, b *snapshot.Builder) []snapshot.Kind {
	i := slices.Index(kinds, snapshot.HostSources)
	if i < 0 {
		return kinds
	}
	b.Expand(snapshot.HostSources)
	kinds = slices.Delete(slices.Clone(kinds), i, i+1)
	for j := range s.HostSources {
		kinds = append(kinds, s.HostSources[j].Kind)
	}
	return kinds
}

// hostSource returns the host source of a kind, or nil.
func (s *Source) hostSource(kind snapshot.Kind) *hostsource.Source {
	i := slices.IndexFunc(s.HostSources, func(h hostsource.Source) bool { return h.Kind == kind })
	if i < 0 {
		return nil
	}
	return &s.HostSources[i]
}
