package main

import (
	"context"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// rehearsal tells nobody: it leaves in the result what would be sent.
type rehearsal struct {
	telling
	res *audit.Result
}

func (r rehearsal) Deliver(_ context.Context, stored []audit.Stored) []audit.Delivery {
	for _, p := range r.Preview(stored) {
		for _, m := range p.Messages {
			r.res.Messages = append(r.res.Messages, audit.Message{
				Sender: p.Sender, Owner: p.To.Owner, Address: p.To.Address, Held: p.Held, Text: m.Text,
			})
		}
	}
	return nil
}

// silence counts what report-only keeps from owners, as if every sender that the
// config may have were there: a laptop has no token.
func (o *sweepOptions) silence(res *audit.Result) *audit.ReportOnly {
	return (&notify.Router{
		Config: &o.config, Ownership: res.Ownership, Now: o.now(),
		HasSender: func(name string) bool { return name != notify.WebhookName || o.config.Webhook.URL != "" },
	}).ReportOnly(res.Findings)
}
