package main

import (
	"context"
	"os"
	"slices"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/kube/events"
)

// recordEvents records what a sweep made of findings as Events on their objects, if
// the config asks for it, and adds what became of that to the deliveries. Nothing
// that goes wrong with it undoes a sweep; it takes no turns by a Lease, since an Event
// that two record is one.
func (o *sweepOptions) recordEvents(ctx context.Context, p *audit.Publisher, res *audit.Result, published *audit.Published) {
	if !o.config.Events || p.DryRun || res == nil || published == nil {
		return
	}
	done, err := o.events(ctx, res, published)
	if err != nil {
		done = []audit.Delivery{{Sender: "events", Result: audit.DeliveryFailed, Reason: err.Error()}}
	}
	published.Deliveries = append(published.Deliveries, done...)
	slices.SortFunc(published.Deliveries, audit.CompareDeliveries)
	res.Deliveries = published.Deliveries
}

func (o *sweepOptions) events(ctx context.Context, res *audit.Result, published *audit.Published) ([]audit.Delivery, error) {
	cfg, err := restConfig(o.connection)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // a name for people; there is another where there is none
	events, err := events.New(cfg, o.publishing.namespace, events.Options{UserAgent: userAgent(), Instance: host})
	if err != nil {
		return nil, err
	}
	done := events.Record(ctx, res.Started, published)
	o.recorded.used = o.recorded.used.Plus(events.Usage())
	return done, nil
}
