package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// shortPatience is how long to wait for what other publishers are sending, unless
// Deliverer.Patience says so.
const shortPatience = 100 * time.Millisecond

// reportUnsent reports what is still pending although nothing says why: what another
// publisher has claimed and has not sent. Without that, a sweep would look as if
// everyone had been notified after a publisher was killed.
func (d *Deliverer) reportUnsent(ctx context.Context, all []*delivery) {
	end := time.Now().Add(cmp.Or(d.Patience, shortPatience))
	pause := 20 * time.Millisecond
	for _, v := range all {
		var left int
		var claim audit.Claim
		for _, it := range v.unsent() {
			c, pending := v.stillPending(ctx, it)
			for pending && time.Now().Before(end) && Sleep(ctx, pause) == nil {
				pause = min(2*pause, time.Second)
				c, pending = v.stillPending(ctx, it)
			}
			if pending {
				left, claim = left+1, c
			}
		}
		if left > 0 {
			v.result(v.group.route, audit.DeliveryFailed, unsentReason(left, claim))
		}
	}
}

func unsentReason(n int, claim audit.Claim) string {
	if claim.By == "" {
		return rules.Count(n, "event") + " still pending: the next sweep continues"
	}
	return fmt.Sprintf("%s claimed by another publisher, %s, that has not sent it: a sweep after %s does, unless that publisher holds the Lease",
		rules.Count(n, "event"), claim.By, claim.Expires().UTC().Format(time.RFC3339))
}

// unsent returns the items of which it is not known that they were sent, if no result
// says why.
func (v *delivery) unsent() []Item {
	if v.group.route.Quiet || len(audit.Undelivered(v.results)) > 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.group.items), func(it Item) bool {
		_, pending := pendingIn(v.record(it.Record.ID), v.sender, it)
		return !pending
	})
}

// stillPending reports whether an item is pending in the store now, and who has it.
func (v *delivery) stillPending(ctx context.Context, it Item) (audit.Claim, bool) {
	now, err := v.ledger.store.Get(ctx, it.Record.ID)
	if err != nil {
		// A finding that is gone has nothing left to say.
		_, pending := pendingIn(v.record(it.Record.ID), v.sender, it)
		return audit.Claim{}, pending && ctx.Err() != nil
	}
	return pendingIn(now.Record, v.sender, it)
}

// pendingIn reports whether the event of an item is pending in a record, and who has
// claimed it. What is pending by now may be another event, of which the next sweep knows.
func pendingIn(rec audit.Record, sender string, it Item) (audit.Claim, bool) {
	for _, n := range rec.Notifications {
		if n.Sender == sender && slices.Contains(it.Owners, n.Owner) && n.Pending == it.Event {
			return n.Claim, true
		}
	}
	return audit.Claim{}, false
}

// Unready says that a sender lacks what it needs to send anything.
type Unready struct {
	Sender  string
	Address string // to which it cannot send; empty: to any
	Owner   string // who is notified there; empty if there are others
	Reason  string
}

// NotReady returns what cannot be sent, sorted. Each is a failed delivery, also while
// nothing is pending: otherwise no one would know before something is.
func (d *Deliverer) NotReady() []audit.Delivery {
	var out []audit.Delivery
	for _, u := range d.Unready {
		out = append(out, audit.Delivery{Sender: u.Sender, Owner: u.Owner, Result: audit.DeliveryFailed, Reason: u.Reason, NotReady: true})
	}
	slices.SortFunc(out, audit.CompareDeliveries)
	return out
}

// unready returns why nothing can be sent by a route, empty if it can.
func (d *Deliverer) unready(r Route) string {
	for _, u := range d.Unready {
		if u.Sender == r.Sender && (u.Address == "" || u.Address == r.To.Address) {
			return u.Reason
		}
	}
	return ""
}
