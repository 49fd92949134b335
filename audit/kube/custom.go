package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// raw makes a fetch of a kind that custom resources serve. Its objects stay the
// JSON that the server sent until they become facts.
func raw(client rest.Interface, kind snapshot.Kind, version string, take func(json.RawMessage, *snapshot.Facts) error) fetch {
	return func(ctx context.Context, opts metav1.ListOptions) (page, error) {
		request := get(client, kind, version).Resource(kind.Resource()).
			Param("limit", strconv.FormatInt(opts.Limit, 10))
		if opts.Continue != "" {
			request = request.Param("continue", opts.Continue)
		}
		if opts.FieldSelector != "" {
			request = request.Param("fieldSelector", opts.FieldSelector)
		}
		body, err := answer(ctx, request)
		if err != nil {
			return page{}, err
		}
		var list struct {
			Metadata metav1.ListMeta   `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(body, &list); err != nil {
			return page{}, fmt.Errorf("decode list: %w", err)
		}
		if list.Metadata.ResourceVersion == "" {
			return page{}, errNoList
		}
		return page{items: len(list.Items), next: list.Metadata.Continue, take: func(into *snapshot.Facts) error {
			for _, item := range list.Items {
				if err := take(item, into); err != nil {
					return &objectError{err}
				}
			}
			return nil
		}}, nil
	}
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
