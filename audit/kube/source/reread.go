package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var _ audit.Rereader = (*Source)(nil)

// Reread lists parts of kinds again. A field selector narrows the list to a
// namespace, so that no right is needed except the one to list. The versions are
// those of the first reading.
func (s *Source) Reread(ctx context.Context, parts []snapshot.Part, version func(snapshot.Kind) string, b *snapshot.Builder) ([]snapshot.Part, []audit.UnreadPart, error) {
	var mu sync.Mutex
	var read []snapshot.Part
	var unread []audit.UnreadPart
	var readers errgroup.Group
	readers.SetLimit(s.opts.Parallel)
	for _, p := range parts {
		readers.Go(func() error {
			facts, err := s.readPart(ctx, p, version(p.Kind))
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				unread = append(unread, audit.UnreadPart{Part: p, Reason: kube.Reason(err)})
				return nil
			}
			b.Add(facts)
			read = append(read, p)
			return nil
		})
	}
	_ = readers.Wait() // what failed is in unread
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, nil, fmt.Errorf("read cluster again: %w", context.Cause(ctx))
	}
	return read, unread, nil
}

// readPart lists a part. After an error there are no facts.
func (s *Source) readPart(ctx context.Context, p snapshot.Part, version string) (snapshot.Facts, error) {
	in := s.ingester()
	var l kube.List[snapshot.Facts]
	if res, ok := s.typed[p.Kind]; ok {
		l = res.open(s.client.Clientset(), in)
	} else if c, ok := s.custom(ctx, p.Kind); ok && len(c.Only) == 0 && version != "" {
		l = s.raw(p.Kind, version, func(item json.RawMessage, facts *snapshot.Facts) error {
			return c.Take(in, item, facts)
		})
	} else {
		return snapshot.Facts{}, errors.New(noReader)
	}
	facts, _, err := kube.ReadAll(ctx, s.client, within(l, p))
	return facts, err
}

// within narrows a list to a part of its kind.
func within(l kube.List[snapshot.Facts], p snapshot.Part) kube.List[snapshot.Facts] {
	if p.Namespace == "" {
		return l
	}
	field := "metadata.namespace"
	if p.Kind == snapshot.Namespaces {
		field = "metadata.name"
	}
	part := l
	part.Request = func(opts metav1.ListOptions) *rest.Request {
		opts.FieldSelector = field + "=" + p.Namespace
		return l.Request(opts)
	}
	return part
}
