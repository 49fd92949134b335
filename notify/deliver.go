package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eventuallytrue/audit/audit"
)

const (
	// maxDelivery bounds the delivery after one sweep.
	maxDelivery      = 4 * time.Minute
	recipientsAtOnce = 32
)

// Deliverer notifies owners of what is pending in the store, and records it there.
type Deliverer struct {
	Store     audit.Store
	Senders   []Sender
	Routes    Routes
	Cluster   string
	Namespace string // of the store
	// Publisher is a name that no other publisher has. WithLease is true if it holds
	// the Lease.
	Publisher string
	WithLease bool
	// RemindAfter is how long after the last notification owners are reminded of an open
	// finding; zero: never.
	RemindAfter time.Duration
	Clock       func() time.Time
}

// Deliver sends a digest to each recipient, several at a time, and returns what became
// of each digest, sorted by sender, owner and result. Items are claimed, sent and then
// recorded, so a crash repeats a message at most. What could not be sent stays pending.
func (d *Deliverer) Deliver(ctx context.Context, stored []audit.Stored) []audit.Delivery {
	ctx, cancel := context.WithTimeout(ctx, maxDelivery)
	defer cancel()
	deliveries := d.deliveries(stored)
	var limited errgroup.Group
	limited.SetLimit(recipientsAtOnce)
	// Many recipients may share what this waits for, such as the fallback owner's
	// channel: it must not keep the others from being notified.
	var unlimited sync.WaitGroup
	for _, v := range deliveries {
		limited.Go(func() error {
			v.deliver(ctx)
			unlimited.Go(func() {
				v.deliverToFallback(ctx)
				v.sendOptional(ctx)
			})
			return nil
		})
	}
	_ = limited.Wait() // no delivery returns an error
	unlimited.Wait()
	var out []audit.Delivery
	for _, v := range deliveries {
		out = append(out, v.results...)
	}
	slices.SortFunc(out, audit.CompareDeliveries)
	return out
}

// Preview is what would be sent to one recipient.
type Preview struct {
	Sender   string
	To       Recipient
	Held     bool // it would wait for the end of quiet hours
	Messages []Message
}

// Preview returns what Deliver would send, by sender and recipient. It neither sends
// nor stores anything.
func (d *Deliverer) Preview(stored []audit.Stored) []Preview {
	var out []Preview
	for _, v := range d.deliveries(stored) {
		to := v.group.route
		if sender := d.senderNamed(to.Sender); sender != nil && len(v.group.items) > 0 {
			out = append(out, Preview{Sender: to.Sender, To: to.To, Held: to.Quiet, Messages: sender.Plan(v.digest(to, v.group.items, ""))})
		}
	}
	return out
}

func (d *Deliverer) senderNamed(name string) Sender {
	for _, s := range d.Senders {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

// deliveries returns a delivery for each recipient.
func (d *Deliverer) deliveries(stored []audit.Stored) []*delivery {
	var out []*delivery
	ledger, announced := newLedger(d.Store, stored), announcedBy(stored)
	for _, g := range pendingGroups(stored, d.Routes, d.RemindAfter, d.Clock()) {
		out = append(out, &delivery{Deliverer: d, group: g, announced: announced, claims: &claims{
			ledger: ledger, sender: g.sender, publisher: d.Publisher, withLease: d.WithLease, remindAfter: d.RemindAfter, clock: d.Clock,
		}})
	}
	return out
}

// delivery notifies one recipient.
type delivery struct {
	*Deliverer
	*claims
	group     *group
	announced map[messageKey][]string

	results  []audit.Delivery
	refused  []Item // claimed items for the fallback owner
	reason   string // why they were refused
	optional []outgoing
}

// outgoing is a message that is sent after all others of a digest.
type outgoing struct {
	sender  Sender
	to      Recipient
	message Message
	thread  audit.MessageRef
}

// deliver claims, sends and records what is pending.
func (v *delivery) deliver(ctx context.Context) {
	g := v.group
	if g.refused != "" {
		v.result(g.route, audit.DeliveryRefused, g.refused)
	}
	if err := v.forget(ctx, g.obsolete); err != nil {
		v.result(g.route, audit.DeliveryFailed, "forget the previous owners: "+err.Error())
	}
	switch {
	case len(g.items) == 0:
		return
	case g.route.Quiet:
		v.result(g.route, audit.DeliveryHeld, "quiet hours")
		return
	}
	items, err := v.claim(ctx, g.items)
	if err != nil {
		v.result(g.route, audit.DeliveryFailed, "claim: "+err.Error())
		return
	}
	if len(items) == 0 {
		return // another publisher sends them
	}
	left, err := v.send(ctx, g.route, items, "")
	switch {
	case err == nil:
		v.result(g.route, audit.DeliverySent, "")
	case !errors.Is(err, ErrRefused):
		v.release(ctx, left, "")
		v.result(g.route, audit.DeliveryFailed, err.Error())
	default:
		v.result(g.route, audit.DeliveryRefused, err.Error())
		if g.route.Fallback == nil {
			v.release(ctx, left, err.Error())
			return
		}
		v.refused, v.reason = left, err.Error()
	}
}

// deliverToFallback sends what was refused to the fallback owner.
func (v *delivery) deliverToFallback(ctx context.Context) {
	if len(v.refused) == 0 {
		return
	}
	to := *v.group.route.Fallback
	for i := range v.refused {
		it := &v.refused[i]
		it.refused = v.reason
		if it.Message.Channel != to.To.Address {
			it.Message = audit.MessageRef{} // the thread is in the channel that refused
		}
	}
	left, err := v.send(ctx, to, v.refused, v.group.owner+": "+v.reason)
	switch {
	case err == nil:
		v.result(to, audit.DeliverySent, "")
	case errors.Is(err, ErrRefused):
		v.release(ctx, left, v.reason)
		v.result(to, audit.DeliveryRefused, err.Error())
	default:
		v.release(ctx, left, "") // the next sweep may reach the fallback owner
		v.result(to, audit.DeliveryFailed, err.Error())
	}
}

// send sends the messages of a digest one after the other, and records each before the
// next one. It returns the items that are left, with the reason.
func (v *delivery) send(ctx context.Context, route Route, items []Item, fallbackReason string) (left []Item, err error) {
	sender := v.senderNamed(route.Sender)
	if sender == nil {
		return items, fmt.Errorf("there is no sender %s", route.Sender)
	}
	plan := sender.Plan(v.digest(route, items, fallbackReason))
	sent := make([]audit.MessageRef, len(plan))
	left = slices.Clone(items)
	for i, m := range plan {
		if err := context.Cause(ctx); err != nil {
			return left, err
		}
		thread := m.Thread
		if m.Parent != NoParent {
			thread = sent[m.Parent]
		}
		if m.Optional {
			v.optional = append(v.optional, outgoing{sender, route.To, m, thread})
			continue
		}
		if sent[i], err = sender.Send(ctx, route.To, m, thread); err != nil {
			return left, err
		}
		if left, err = v.recordSent(ctx, left, m, sent[i]); err != nil {
			return left, err
		}
	}
	if len(left) > 0 {
		return left, fmt.Errorf("no message covers finding %s", left[0].Record.ID)
	}
	return nil, nil
}

// sendOptional sends the messages that may fail. A receiver may accept only a few of
// them a minute, from all recipients together.
func (v *delivery) sendOptional(ctx context.Context) {
	for _, o := range v.optional {
		if ctx.Err() != nil {
			return
		}
		_, _ = o.sender.Send(ctx, o.to, o.message, o.thread)
	}
}

func (v *delivery) result(to Route, r audit.DeliveryResult, reason string) {
	v.results = append(v.results, audit.Delivery{Sender: to.Sender, Owner: to.To.Owner, Result: r, Reason: reason})
}

// digest returns the digest of some items.
func (v *delivery) digest(to Route, items []Item, fallbackReason string) Digest {
	dg := Digest{
		Cluster: v.Cluster, Namespace: v.Namespace, To: to.To, FallbackReason: fallbackReason, Items: items, Open: v.group.open,
		Earlier: map[audit.MessageRef][]Item{}, Now: v.Clock(),
	}
	for _, it := range items {
		if it.Message == (audit.MessageRef{}) || dg.Earlier[it.Message] != nil {
			continue
		}
		for _, id := range v.announced[messageKey{v.group.sender, it.Message}] {
			dg.Earlier[it.Message] = append(dg.Earlier[it.Message], Item{Record: v.record(id), Message: it.Message})
		}
		sortItems(dg.Earlier[it.Message])
	}
	return dg
}

// messageKey identifies a message of any sender.
type messageKey struct {
	sender  string
	message audit.MessageRef
}

// announcedBy returns the IDs of the findings that each message announced.
func announcedBy(stored []audit.Stored) map[messageKey][]string {
	out := map[messageKey][]string{}
	for _, s := range stored {
		for _, n := range s.Notifications {
			if n.Message == (audit.MessageRef{}) {
				continue
			}
			key := messageKey{n.Sender, n.Message}
			if ids := out[key]; len(ids) == 0 || ids[len(ids)-1] != s.ID {
				out[key] = append(ids, s.ID)
			}
		}
	}
	return out
}
