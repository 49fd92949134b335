package notify

import (
	"github.com/eventuallytrue/audit/audit"
)

// Preview is what would be sent to one recipient.
type Preview struct {
	Sender   string
	To       Recipient
	Held     bool // it would wait for the end of quiet hours
	Messages []Message
}

// Preview returns what Deliver would send, by sender and recipient, and neither
// sends nor stores anything.
func (d *Deliverer) Preview(stored []audit.Stored) []Preview {
	l := newLedger(d.Store, stored, 1)
	places := byPlace(stored)
	var out []Preview
	for _, g := range d.groups(stored) {
		sender := d.senderNamed(g.route.Sender)
		if sender == nil || len(g.items) == 0 {
			continue
		}
		v := &delivery{Deliverer: d, ledger: l, group: g, places: places}
		out = append(out, Preview{
			Sender: g.route.Sender, To: g.route.To, Held: g.held, Messages: sender.Plan(v.digest(g.route, g.items, "")),
		})
	}
	return out
}
