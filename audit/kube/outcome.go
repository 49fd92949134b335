package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

const (
	timedOut   = "timed out before the list was complete"
	noReader   = "this kind cannot be read from an API server"
	noCluster  = "the server does not know this kind, which every Kubernetes API server serves: is it one?"
	unreliable = "the server answers that it does not know this kind, but says elsewhere that it serves it"
)

// readKind reads one kind and tells the ways in which that can end apart:
// absent is as good as none, forbidden and failed say nothing of what there is.
func (s *Source) readKind(ctx context.Context, kind snapshot.Kind) outcome {
	res, ok := s.resources[kind]
	if !ok {
		return outcome{read: s.failed(kind, noReader)}
	}
	facts, items, err := s.all(ctx, res.open(s, s.ingester()))
	if apierrors.IsNotFound(err) {
		return outcome{read: s.notFound(ctx, res)}
	}
	if err != nil {
		return outcome{read: s.unread(ctx, kind, err)}
	}
	return outcome{
		facts: facts,
		read:  snapshot.Read{Kind: kind, Version: res.version, Status: snapshot.Listed, Items: items},
	}
}

// notFound judges a 404. It comes from an API server that does not serve the
// kind, but as well from whatever else listens at a wrong address.
func (s *Source) notFound(ctx context.Context, res resource) snapshot.Read {
	if res.everywhere {
		return s.failed(res.kind, noCluster)
	}
	var served bool
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		served, err = s.served(ctx, res)
		return err
	})
	switch {
	case err != nil:
		return s.unread(ctx, res.kind, err)
	case served:
		return s.failed(res.kind, unreliable)
	}
	return snapshot.Read{Kind: res.kind, Version: res.version, Status: snapshot.Absent}
}

// unread says why a kind could not be read.
func (s *Source) unread(ctx context.Context, kind snapshot.Kind, err error) snapshot.Read {
	if ctx.Err() != nil {
		return s.failed(kind, timedOut)
	}
	read := s.failed(kind, reason(err))
	if apierrors.IsForbidden(err) {
		read.Status = snapshot.Forbidden
	}
	return read
}

func (s *Source) failed(kind snapshot.Kind, why string) snapshot.Read {
	return snapshot.Read{Kind: kind, Version: s.resources[kind].version, Status: snapshot.Failed, Err: why}
}
