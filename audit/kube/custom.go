package kube

import (
	"bufio"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// raw lists a kind that custom resources serve. Its objects stay the JSON that the
// server sent until they become facts.
func raw(client rest.Interface, kind snapshot.Kind, version string, take func(json.RawMessage, *snapshot.Facts) error) list {
	request := func(opts metav1.ListOptions) *rest.Request {
		return paged(get(client, kind, version).Resource(kind.Resource()), opts)
	}
	return list{request: request, read: func(body *bufio.Reader, p *page) error {
		return readJSON(body, p, func(item json.RawMessage) error {
			if err := take(item, p.facts); err != nil {
				return &objectError{err}
			}
			return nil
		})
	}}
}

// paged asks for a page of what is listed as JSON.
func paged(request *rest.Request, opts metav1.ListOptions) *rest.Request {
	request = request.Param("limit", strconv.FormatInt(opts.Limit, 10))
	if opts.Continue != "" {
		request = request.Param("continue", opts.Continue)
	}
	if opts.FieldSelector != "" {
		request = request.Param("fieldSelector", opts.FieldSelector)
	}
	return request
}

// readCustom reads a custom kind in the version that is served.
func (s *Source) readCustom(ctx context.Context, c *ingest.Custom, version string) outcome {
	in := s.ingester()
	return s.readRaw(ctx, c.Kind, version, func(item json.RawMessage, f *snapshot.Facts) error {
		return c.Take(in, item, f)
	})
}

// readRaw reads a kind in a version that discovery has told of.
func (s *Source) readRaw(
	ctx context.Context, kind snapshot.Kind, version string, take func(json.RawMessage, *snapshot.Facts) error,
) outcome {
	facts, items, err := s.all(ctx, raw(s.client.Discovery().RESTClient(), kind, version, take))
	read := snapshot.Read{Kind: kind, Version: version, Status: snapshot.Listed, Items: items}
	switch {
	// Of the core group discovery has said nothing.
	case apierrors.IsNotFound(err) && kind.Group() != "":
		read = s.failed(kind, unreliable)
	case err != nil:
		read = s.unread(ctx, kind, err)
	}
	read.Version = version
	return outcome{facts: facts, read: read}
}

// compareKinds orders kinds by group and resource.
func compareKinds(a, b snapshot.Kind) int {
	if c := strings.Compare(a.Group(), b.Group()); c != 0 {
		return c
	}
	return strings.Compare(a.Resource(), b.Resource())
}
