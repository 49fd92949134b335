// Package manifests is the offline source: it reads objects from files, folders and
// standard input, as kubectl reads or prints them.
package manifests

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/ingest/budget"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Source reads manifests. It implements audit.Source.
type Source struct {
	// Paths are files, folders, or "-" for Stdin. Folders are read recursively; only
	// files ending in .yaml, .yml or .json count, and hidden folders do not.
	Paths []string
	Stdin io.Reader
	// Exclude are patterns of files and folders that are left out of folders.
	Exclude []string
	// DefaultNamespace is the namespace of objects that name none, "default" if empty.
	DefaultNamespace string
	// OwnerKeys are the keys of labels and annotations that name an owner.
	OwnerKeys []string
	// ChannelAnnotation is the annotation of Namespaces that may name the channel of
	// their owner. If it is empty, none may.
	ChannelAnnotation string
	// ExternalDNSPrefixes are the prefixes of the annotations of external-dns; by default
	// hostsource.ExternalDNSPrefixes.
	ExternalDNSPrefixes []string
	// Limits bound what is kept of objects.
	Limits budget.Limits
	// HostSources are the kinds that replace snapshot.HostSources.
	HostSources []hostsource.Source
}

// Check returns an error for each path that does not exist or cannot be opened, and for
// each setting that is invalid, so that a sweep does not start with one.
func (s *Source) Check() error {
	var errs []error
	if _, err := newExcludes(s.Exclude); err != nil {
		errs = append(errs, fmt.Errorf("--exclude: %w", err))
	}
	if s.DefaultNamespace != "" {
		if reasons := validation.IsDNS1123Label(s.DefaultNamespace); len(reasons) > 0 {
			errs = append(errs, fmt.Errorf("--default-namespace: %q is not the name of a namespace: %s", s.DefaultNamespace, strings.Join(reasons, "; ")))
		}
	}
	for _, path := range s.Paths {
		if path == "-" {
			continue
		}
		if err := tryOpen(path); err != nil {
			errs = append(errs, fmt.Errorf("read manifests: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Read reads every document of every path. Every given kind is read, even if there is no
// object of it: an object that is in no manifest does not exist. A document that cannot
// be read is a problem of the reading.
//
// Read returns when the context ends, even while a pipe keeps it waiting. A deadline
// leaves every kind Failed; a cancellation is an error.
func (s *Source) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	var sources []snapshot.Kind
	for i := range s.HostSources {
		sources = append(sources, s.HostSources[i].Kind)
	}
	kinds = ingest.ExpandHostSources(kinds, sources, b)
	exclude, err := newExcludes(s.Exclude)
	if err != nil {
		return audit.Reading{}, fmt.Errorf("read manifests: exclude: %w", err)
	}
	type result struct {
		r   *reader
		err error
	}
	done := make(chan result, 1)
	go func() {
		r, err := s.readAll(ctx, kinds, exclude)
		done <- result{r, err}
	}()
	var got result
	select {
	case got = <-done:
	case <-ctx.Done():
		got.err = context.Cause(ctx)
	}
	switch {
	case errors.Is(got.err, context.DeadlineExceeded):
		b.Add(snapshot.Facts{}, s.reads(b, kinds, snapshot.Read{Status: snapshot.Failed, Err: "timed out before everything was read"}, nil)...)
		return audit.Reading{}, nil
	case got.err != nil:
		return audit.Reading{}, fmt.Errorf("read manifests: %w", got.err)
	}
	b.Add(got.r.facts, s.reads(b, kinds, snapshot.Read{Status: snapshot.Listed}, got.r.items)...)
	others := ""
	if slices.ContainsFunc(kinds, func(k snapshot.Kind) bool { return slices.Contains(snapshot.WorkloadKinds(), k) }) {
		others = otherWorkloads(got.r.ignored)
	}
	return audit.Reading{
		Problems: got.r.problems.listed(), Ignored: got.r.ignoredKinds(),
		Notes: got.r.notes.lines(got.r.namespace, got.r.exclude.unused(s.Exclude), others),
	}, nil
}

// reads returns how each kind was read: all like the given read.
func (s *Source) reads(b *snapshot.Builder, kinds []snapshot.Kind, like snapshot.Read, items map[snapshot.Kind]int) []snapshot.Read {
	customs := map[snapshot.Kind]ingest.Custom{}
	for _, c := range ingest.Customs() {
		customs[c.Kind] = c
	}
	var out []snapshot.Read
	for _, k := range kinds {
		read := like
		read.Kind, read.Version, read.Items = k, "v1", items[k]
		if c, ok := customs[k]; ok {
			read.Version = c.Versions[0]
			// A cluster without objects of the kind may not serve it.
			if read.Status == snapshot.Listed && read.Items == 0 {
				read.Status = snapshot.Absent
			}
		}
		if host := s.hostSource(k); host != nil {
			if host.Unread || host.BuiltIn && read.Items == 0 {
				continue // it was not configured
			}
			read.Version = host.Versions[0]
			b.Expand(snapshot.HostSources, k)
		}
		out = append(out, read)
	}
	return out
}

// readAll reads every path. Its only error is the end of the context.
func (s *Source) readAll(ctx context.Context, kinds []snapshot.Kind, exclude excludes) (*reader, error) {
	r := &reader{
		ingester: ingest.New(s.OwnerKeys).KeepChannel(s.ChannelAnnotation).ReadExternalDNS(s.ExternalDNSPrefixes).
			Limit(s.Limits),
		entries:   s.entries(ctx),
		known:     map[schema.GroupKind]entry{},
		wanted:    map[snapshot.Kind]bool{},
		namespace: cmp.Or(s.DefaultNamespace, metav1.NamespaceDefault),
		exclude:   exclude,
		items:     map[snapshot.Kind]int{},
		ignored:   map[audit.IgnoredKind]int{},
		seen:      readings{by: map[digest]reading{}, versions: map[string]string{}},
		generated: generatedNames{},
	}
	for gvk, e := range r.entries {
		if !e.few {
			r.known[gvk.GroupKind()] = e
		}
	}
	for _, k := range kinds {
		r.wanted[k] = true
	}
	for _, path := range s.Paths {
		objects, problems := r.objects, r.problems.count()
		if err := s.readPath(ctx, r, path); err != nil {
			return nil, err
		}
		// A command that failed before a pipe, or a mistyped folder, looks like this. The
		// export of an empty cluster is an empty list.
		if r.objects == objects && r.problems.count() == problems {
			r.problems.add(called(path), errors.New("it contains no object and no list"))
		}
	}
	return r, nil
}

// entries returns the entries of all kinds that can be ingested until the context ends.
func (s *Source) entries(ctx context.Context) map[schema.GroupVersionKind]entry {
	m, customs := entryMap(), ingest.Customs()
	for i := range s.HostSources {
		host := &s.HostSources[i]
		if beside := slices.IndexFunc(customs, func(c ingest.Custom) bool { return c.Kind == host.Kind }); beside >= 0 {
			maps.Copy(m, customEntries(customs[beside].WithHosts(ctx, host)))
			continue
		}
		addCustom(m, ingest.HostKind(ctx, host))
		if host.Unread {
			uncounted(m, host)
		}
	}
	return m
}

// uncounted marks the entries of a kind that is not read: a version that is not known is no
// problem.
func uncounted(m map[schema.GroupVersionKind]entry, host *hostsource.Source) {
	for gvk, e := range m {
		if e.kind == host.Kind {
			e.few = true
			m[gvk] = e
		}
	}
}

// hostSource returns the host source of a kind, or nil.
func (s *Source) hostSource(kind snapshot.Kind) *hostsource.Source {
	i := slices.IndexFunc(s.HostSources, func(h hostsource.Source) bool { return h.Kind == kind })
	if i < 0 {
		return nil
	}
	return &s.HostSources[i]
}
