package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var _ audit.Rereader = (*Source)(nil)

// Reread lists parts of kinds once more. A field selector narrows the list to a
// namespace, so that no right is needed beside the one to list. The versions are
// those that the first reading used.
func (s *Source) Reread(ctx context.Context, parts []snapshot.Part, version func(snapshot.Kind) string, b *snapshot.Builder) ([]snapshot.Part, []audit.UnreadPart, error) {
	var mu sync.Mutex
	var read []snapshot.Part
	var unread []audit.UnreadPart
	var wait sync.WaitGroup
	slots := make(chan struct{}, s.opts.Parallel)
	for _, p := range parts {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			facts, err := s.readPart(ctx, p, version(p.Kind))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				unread = append(unread, audit.UnreadPart{Part: p, Reason: reason(err)})
				return
			}
			b.Add(facts)
			read = append(read, p)
		})
	}
	wait.Wait()
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, nil, fmt.Errorf("read cluster again: %w", context.Cause(ctx))
	}
	return read, unread, nil
}

// readPart lists a part. After an error there are no facts.
func (s *Source) readPart(ctx context.Context, p snapshot.Part, version string) (snapshot.Facts, error) {
	in := s.ingester()
	var l list
	if res, ok := s.resources[p.Kind]; ok {
		l = res.open(s, in)
	} else if take := s.taker(ctx, p.Kind); take != nil && version != "" {
		l = raw(s.client.Discovery().RESTClient(), p.Kind, version, func(item json.RawMessage, facts *snapshot.Facts) error {
			return take(in, item, facts)
		})
	} else {
		return snapshot.Facts{}, errors.New(noReader)
	}
	facts, _, err := s.all(ctx, within(l, p))
	return facts, err
}

// taker returns what takes in objects of a custom kind, nil where nothing does.
func (s *Source) taker(ctx context.Context, kind snapshot.Kind) func(*ingest.Ingester, []byte, *snapshot.Facts) error {
	if c, ok := s.customs[kind]; ok && len(c.Only) == 0 {
		return c.Take
	}
	if host, ok := s.hosts[kind]; ok {
		c := ingest.HostKind(ctx, host)
		return c.Take
	}
	return nil
}

// within narrows a list to a part of its kind.
func within(l list, p snapshot.Part) list {
	if p.Namespace == "" {
		return l
	}
	field := "metadata.namespace"
	if p.Kind == snapshot.Namespaces {
		field = "metadata.name"
	}
	part := l
	part.request = func(opts metav1.ListOptions) *rest.Request {
		opts.FieldSelector = field + "=" + p.Namespace
		return l.request(opts)
	}
	return part
}
