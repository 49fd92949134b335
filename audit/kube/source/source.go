// Package source reads a live cluster for a sweep: it lists the kinds that rules need
// and turns their objects into facts, and reads parts of them again so that a sweep
// can confirm what it found.
//
// A page is turned into facts by package ingest and dropped. A list that could not be
// read to its end is thrown away and reported, never passed on as complete.
package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/audit/ingest/budget"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Options configure a Source. A zero field means its default.
type Options struct {
	// UserAgent identifies the program in the API server's audit log.
	UserAgent string
	// OwnerKeys are the label and annotation keys that name an owner.
	OwnerKeys []string
	// ChannelAnnotation is the annotation of Namespaces that may name the channel of
	// their owner. If it is empty, none does.
	ChannelAnnotation string
	// ExternalDNSPrefixes are the prefixes of the annotations of external-dns; by default
	// hostsource.ExternalDNSPrefixes.
	ExternalDNSPrefixes []string
	// HostSources are the kinds that snapshot.HostSources expands to.
	HostSources []hostsource.Source
	// Limits bound what is kept of objects.
	Limits budget.Limits
	// PageSize is that of kube.Options.
	PageSize int64
	// Parallel is the number of kinds read at once; 6 by default.
	Parallel int
	// Sleep is that of kube.Options.
	Sleep func(context.Context, time.Duration)
}

// Source reads a live cluster. It implements audit.Source and audit.Rereader, and may
// be used for several sweeps, one after the other or at once.
type Source struct {
	client  *kube.Client
	typed   map[snapshot.Kind]resource
	customs map[snapshot.Kind]ingest.Custom
	hosts   map[snapshot.Kind]*hostsource.Source
	opts    Options
}

var _ audit.Source = (*Source)(nil)

// secrets is the one kind that is never read.
const secrets snapshot.Kind = "secrets"

var errSecrets = errors.New("a host source cannot read Secrets")

// New returns a source that reads the cluster that the config points to. It does not
// connect yet. The config is not changed. A source that would read Secrets is an
// error.
func New(cfg *rest.Config, opts Options) (*Source, error) {
	for i := range opts.HostSources {
		if opts.HostSources[i].Kind == secrets {
			return nil, errSecrets
		}
	}
	if opts.Parallel <= 0 {
		opts.Parallel = 6
	}
	client, err := kube.NewClient(cfg, kube.Options{UserAgent: opts.UserAgent, PageSize: opts.PageSize, Sleep: opts.Sleep})
	if err != nil {
		return nil, err
	}
	s := &Source{
		client: client, opts: opts,
		typed: map[snapshot.Kind]resource{}, customs: map[snapshot.Kind]ingest.Custom{},
		hosts: map[snapshot.Kind]*hostsource.Source{},
	}
	for _, r := range resources() {
		s.typed[r.kind] = r
	}
	for _, c := range ingest.Customs() {
		s.customs[c.Kind] = c
	}
	for i := range opts.HostSources {
		s.hosts[opts.HostSources[i].Kind] = &opts.HostSources[i]
	}
	return s, nil
}

// Usage returns what the source has requested since it was made.
func (s *Source) Usage() kube.Usage { return s.client.Usage() }

// ingester returns what makes facts, for one reader.
func (s *Source) ingester() *ingest.Ingester {
	return ingest.New(s.opts.OwnerKeys).KeepChannel(s.opts.ChannelAnnotation).ReadExternalDNS(s.opts.ExternalDNSPrefixes).
		Limit(s.opts.Limits)
}

// Read lists the given kinds in parallel. A deadline of the context leaves the kinds
// that were not complete by then Failed; a cancellation is an error. Read returns at
// once in both cases, even where a request is slow to notice.
func (s *Source) Read(ctx context.Context, kinds []snapshot.Kind, b *snapshot.Builder) (audit.Reading, error) {
	kinds = ingest.ExpandHostSources(kinds, slices.Collect(maps.Keys(s.hosts)), b)
	c := newCollection(s, kinds, b)
	done := s.start(ctx, c.kinds())
	for !c.complete() {
		select {
		case o := <-done:
			c.take(o)
			continue
		case <-ctx.Done():
		}
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			break
		}
		c.giveUp()
		return audit.Reading{}, nil
	}
	// A kind that failed because of the cancellation may come in before the
	// cancellation itself is noticed.
	if errors.Is(ctx.Err(), context.Canceled) {
		return audit.Reading{}, fmt.Errorf("read cluster: %w", context.Cause(ctx))
	}
	return audit.Reading{}, nil
}

// start reads the kinds, a few at a time, and returns a channel of their outcomes.
// They need not be received: the readers end with the context.
func (s *Source) start(ctx context.Context, kinds []snapshot.Kind) <-chan outcome {
	ctx = kube.Quiet(ctx)
	var customs []ingest.Custom
	kinds = slices.DeleteFunc(kinds, func(kind snapshot.Kind) bool {
		c, ok := s.custom(ctx, kind)
		if ok {
			customs = append(customs, c)
		}
		return ok
	})
	done := make(chan outcome)
	send := func(o outcome) {
		select {
		case done <- o:
		case <-ctx.Done():
		}
	}
	var readers errgroup.Group
	readers.SetLimit(s.opts.Parallel)
	read := func(job func() outcome) {
		readers.Go(func() error {
			if ctx.Err() == nil {
				send(job())
			}
			return nil
		})
	}
	// Discovery says which custom kinds are absent, without a request for each; the
	// other kinds are read meanwhile.
	plans := make(chan []plan, 1)
	go func() {
		read, first := s.planCustoms(ctx, customs)
		send(first)
		plans <- read
	}()
	go func() {
		for _, kind := range kinds {
			read(func() outcome { return s.readKind(ctx, kind) })
		}
		for _, p := range <-plans {
			if p.read == nil {
				send(p.instead)
				continue
			}
			read(p.read)
		}
	}()
	return done
}
