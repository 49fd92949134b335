package kube

import (
	"context"
	"slices"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// queueCustoms asks once what the server serves, and queues the reading of those
// kinds that it does; of those that it does not the outcome is sent. Where policies
// are among the kinds, it queues the reading of those that nothing here understands,
// too. Without any kind there is nothing to ask.
func (s *Source) queueCustoms(
	ctx context.Context, customs []ingest.Custom, jobs chan<- func() outcome, send func(outcome),
) {
	if len(customs) == 0 {
		send(outcome{read: snapshot.Read{Kind: discovered}})
		return
	}
	o, err := s.ask(ctx)
	if err != nil {
		for _, c := range customs {
			send(outcome{read: s.unread(ctx, c.Kind, err)})
		}
		send(outcome{read: snapshot.Read{Kind: discovered}})
		return
	}
	// First, since their outcomes are waited for from then on.
	unmodelled := o.unmodelledBeside(customs)
	first := outcome{read: snapshot.Read{Kind: discovered}}
	for _, k := range unmodelled {
		first.more = append(first.more, k.kind)
	}
	send(first)
	queue := func(job func() outcome) {
		select {
		case jobs <- job:
		case <-ctx.Done():
		}
	}
	for _, c := range customs {
		switch version, instead := s.version(&o, &c); {
		case version == "":
			send(outcome{read: instead})
		case len(c.Only) > 0:
			queue(func() outcome { return s.readOnly(ctx, &c, version) })
		default:
			queue(func() outcome { return s.readCustom(ctx, &c, version) })
		}
	}
	for _, k := range unmodelled {
		queue(func() outcome { return s.readUnmodelled(ctx, k) })
	}
}

// unmodelledBeside returns the kinds of policies that nothing here understands and
// that matter to whoever asks for the given kinds: none where no policies are among
// them, and none that is itself among them, as a source of hosts.
func (o *offer) unmodelledBeside(customs []ingest.Custom) []servedKind {
	if !slices.ContainsFunc(customs, func(c ingest.Custom) bool { return c.Policy }) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(o.unmodelled), func(k servedKind) bool {
		return slices.ContainsFunc(customs, func(c ingest.Custom) bool { return c.Kind == k.kind })
	})
}

// version returns the version in which a kind is read, and what to say of a kind
// that is not to be read at all.
func (s *Source) version(o *offer, c *ingest.Custom) (version string, instead snapshot.Read) {
	if why := s.misfit(o, c); why != "" {
		return "", s.failed(c.Kind, why)
	}
	return o.version(c)
}
