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

// hostSource returns the host source of a kind, or nil.
func (s *Source) hostSource(kind snapshot.Kind) *hostsource.Source {
	i := slices.IndexFunc(s.HostSources, func(h hostsource.Source) bool { return h.Kind == kind })
	if i < 0 {
		return nil
	}
	return &s.HostSources[i]
}
