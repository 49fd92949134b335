package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Options tune a Source. A field that is zero stands for its default.
type Options struct {
	// UserAgent names the program in the API server's audit log.
	UserAgent string
	// OwnerKeys are the label and annotation keys that name an owner.
	OwnerKeys []string
	// ChannelAnnotation is the annotation of Namespaces that may name the channel
	// of their owner; none where it is empty.
	ChannelAnnotation string
	// HostSources are the kinds that snapshot.HostSources stands for.
	HostSources []hostsource.Source
	// PageSize is the number of objects asked for at once. By default it is 500 at
	// first, and then as many as make a few MiB.
	PageSize int64
	// Parallel is the number of kinds read side by side; 6 by default.
	Parallel int
	// Sleep waits before a request is tried again, and returns early when the
	// context ends. By default it takes the time it is given.
	Sleep func(context.Context, time.Duration)
}

// Source reads a live cluster. It implements audit.Source and may be used for
// several sweeps, one after the other or at once.
type Source struct {
	client    kubernetes.Interface
	resources map[snapshot.Kind]resource
	customs   map[snapshot.Kind]ingest.Custom
	hosts     map[snapshot.Kind]*hostsource.Source
	opts      Options
	usage     *meter
}

var _ audit.Source = (*Source)(nil)

// secrets is the one kind that is never read.
const secrets snapshot.Kind = "secrets"

var errSecrets = errors.New("refuse to read Secrets: they are no source of hosts")

// NewSource returns a source that reads the cluster that the config leads to.
// It connects to nothing yet. The config is not changed. A source that would read
// Secrets is an error.
func NewSource(cfg *rest.Config, opts Options) (*Source, error) {
	for i := range opts.HostSources {
		if opts.HostSources[i].Kind == secrets {
			return nil, errSecrets
		}
	}
	if opts.Parallel <= 0 {
		opts.Parallel = 6
	}
	if opts.Sleep == nil {
		opts.Sleep = sleep
	}
	cfg = rest.CopyConfig(cfg)
	if opts.UserAgent != "" {
		cfg.UserAgent = opts.UserAgent
	}
	// The server's priority and fairness throttles better than a client that
	// knows nothing of the load.
	cfg.QPS, cfg.RateLimiter = -1, nil
	// Where both are unset the typed clients ask for protobuf.
	cfg.ContentType, cfg.AcceptContentTypes = "", ""
	cfg.WarningHandler = rest.NoWarnings{}
	usage := &meter{}
	cfg.Wrap(usage.watch)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	source := &Source{
		client: client, opts: opts, usage: usage,
		resources: map[snapshot.Kind]resource{}, customs: map[snapshot.Kind]ingest.Custom{},
		hosts: map[snapshot.Kind]*hostsource.Source{},
	}
	for _, r := range resources() {
		source.resources[r.kind] = r
	}
	for _, c := range ingest.Customs() {
		source.customs[c.Kind] = c
	}
	for i := range opts.HostSources {
		source.hosts[opts.HostSources[i].Kind] = &opts.HostSources[i]
	}
	return source, nil
}

// ingester returns what makes facts, for one reader.
func (s *Source) ingester() *ingest.Ingester {
	return ingest.New(s.opts.OwnerKeys).KeepChannel(s.opts.ChannelAnnotation)
}

// Read lists the given kinds side by side. A deadline of the context leaves
// the kinds that were not complete by then Failed; a cancellation is an error.
// Read returns at once in both cases, even where a request is slow to notice.
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

// start reads the kinds, a few at a time, and returns where the outcomes come
// out. Nobody has to receive them: the readers end with the context.
func (s *Source) start(ctx context.Context, kinds []snapshot.Kind) <-chan outcome {
	// The client logs what it also returns as an error.
	ctx = klog.NewContext(ctx, klog.Logger{})
	jobs := make(chan func() outcome, len(kinds))
	var customs []ingest.Custom
	for _, kind := range kinds {
		if c, ok := s.customs[kind]; ok {
			customs = append(customs, c)
			continue
		}
		if source, ok := s.hosts[kind]; ok {
			customs = append(customs, ingest.HostKind(ctx, source))
			continue
		}
		jobs <- func() outcome { return s.readKind(ctx, kind) }
	}
	done := make(chan outcome)
	send := func(o outcome) {
		select {
		case done <- o:
		case <-ctx.Done():
		}
	}
	go func() {
		defer close(jobs)
		// What is not served is told by discovery and needs no request of its
		// own; the other kinds are read meanwhile.
		s.queueCustoms(ctx, customs, jobs, send)
	}()
	for range s.opts.Parallel {
		go func() {
			for job := range jobs {
				send(job())
			}
		}()
	}
	return done
}
