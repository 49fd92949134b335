package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// readOnly reads a kind of which only some objects matter, one by one. Those that
// are not there are no failure.
func (s *Source) readOnly(ctx context.Context, c *ingest.Custom, version string) outcome {
	var facts snapshot.Facts
	in := s.ingester()
	read := snapshot.Read{Kind: c.Kind, Version: version, Status: snapshot.Listed}
	for _, name := range c.Only {
		var body []byte
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			request := get(s.client.Discovery().RESTClient(), c.Kind, version).
				Namespace(name.Namespace).Resource(c.Kind.Resource()).Name(name.Name)
			body, err = answer(ctx, request)
			return err
		})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err == nil {
			err = c.Take(in, body, &facts)
		}
		if err != nil {
			return outcome{read: s.unread(ctx, c.Kind, err)}
		}
		read.Items++
	}
	return outcome{facts: facts, read: read}
}
