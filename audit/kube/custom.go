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
	return func(ctx context.Context, opts metav1.ListOptions, into *snapshot.Facts) (int, string, error) {
		request := get(client, kind, version).Resource(kind.Resource()).
			Param("limit", strconv.FormatInt(opts.Limit, 10))
		if opts.Continue != "" {
			request = request.Param("continue", opts.Continue)
		}
		if opts.FieldSelector != "" {
			request = request.Param("fieldSelector", opts.FieldSelector)
		}
		result := request.Do(ctx)
		// Only Error reads what the server says when it refuses.
		if err := result.Error(); err != nil {
			return 0, "", err
		}
		body, err := result.Raw()
		if err != nil {
			return 0, "", err
		}
		var page struct {
			Metadata metav1.ListMeta   `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return 0, "", fmt.Errorf("decode list: %w", err)
		}
		if page.Metadata.ResourceVersion == "" {
			return 0, "", errNoList
		}
		var facts snapshot.Facts
		for _, item := range page.Items {
			if err := take(item, &facts); err != nil {
				return 0, "", &objectError{err}
			}
		}
		into.Append(facts)
		return len(page.Items), page.Metadata.Continue, nil
	}
}

// objectError is an object that is stored and yet makes no sense. Asking again
// does not help.
type objectError struct{ err error }

func (e *objectError) Error() string { return e.err.Error() }

func (e *objectError) Unwrap() error { return e.err }

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
