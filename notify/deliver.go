package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

const (
	// MaxDelivery is how long the delivery after one sweep takes at most, besides Grace.
	MaxDelivery      = 4 * time.Minute
	recipientsAtOnce = 32
	// A publisher spends 1/claimPart of the time that is left on claiming, before it
	// sends what it has claimed, so that there is time to record that.
	claimPart = 4
	// maxUnconfirmed is how many messages in a row may have lost their responses before
	// the others wait for the next sweep.
	maxUnconfirmed = 2
	maxNamed       = 5 // findings in one reason
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
	// ChangedAt is when the config or a secret changed last: what was refused before is
	// tried at once. Zero: never.
	ChangedAt time.Time
	// RetryRefused tries at once what was refused less than audit.RefusedRetry ago.
	RetryRefused bool
	// Patience is how long to wait for what other publishers are sending. One that runs
	// needs a moment; one that was killed will never be done, which is a failure.
	Patience time.Duration
	// Guide helps readers to act.
	Guide Guide
	// Memory is shared by all deliveries of the process; nil: this one has no other.
	Memory *Memory
	// Unready is what cannot be sent now, such as without a token. It stays pending.
	Unready []Unready
}

// errNoTime is why the rest of what is pending waits for the next sweep.
var errNoTime = errors.New("the time to notify owners is over, the next sweep continues")

// Deliver sends a digest to each recipient, several at a time, and returns what became
// of each digest, sorted by sender, owner and result. Items are claimed, sent and then
// recorded, so a crash repeats a message at most. What could not be sent stays pending.
// Once the context has ended nothing is started, but what is under way is finished and
// recorded.
func (d *Deliverer) Deliver(ctx context.Context, stored []audit.Stored) []audit.Delivery {
	ctx, cancel := context.WithTimeoutCause(ctx, MaxDelivery, errNoTime)
	defer cancel()
	if d.Memory == nil {
		d.Memory = &Memory{}
	}
	d.Memory.watch(stored, d.Clock())
	stored = d.Memory.recordAccepted(ctx, d.Store, stored)
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
	d.reportUnsent(ctx, deliveries)
	out := d.NotReady()
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
	for _, g := range d.pendingGroups(stored) {
		out = append(out, &delivery{Deliverer: d, group: g, announced: announced, claims: &claims{
			ledger: ledger, sender: g.sender, publisher: d.Publisher, withLease: d.WithLease, remindAfter: d.RemindAfter, clock: d.Clock, memory: d.Memory,
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
	sent     bool          // a message was accepted
	failed   bool          // something could not be sent
	perWrite time.Duration // how long it takes to store one item
	refused  []Item        // claimed items for the fallback owner
	reason   string        // why they were refused
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
		v.results[len(v.results)-1].NextTry = g.retryAt
	}
	if g.damped > 0 {
		v.result(g.route, audit.DeliveryHeld, fmt.Sprintf("%s of findings that keep changing until %s", rules.Count(g.damped, "event"), g.dampedTo.UTC().Format(time.RFC3339)))
	}
	if g.unconfirmed > 0 {
		v.result(g.route, audit.DeliveryFailed, fmt.Sprintf("%s: %s sent again after %s",
			g.lost, rules.Count(g.unconfirmed, "event")+" may have arrived, and will be", g.next.UTC().Format(time.RFC3339)))
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
	case v.unready(g.route) != "":
		// To claim what cannot be sent would be two writes for each finding.
		v.result(g.route, audit.DeliveryFailed, rules.Count(len(g.items), "event")+" pending: "+v.unready(g.route))
		return
	}
	for _, set := range g.sets() {
		v.deliverSet(ctx, oldestFirst(set))
	}
	if v.sent && !v.failed {
		v.result(g.route, audit.DeliverySent, "")
	}
}

// deliverSet sends items in batches that end within the time left, so that one that is
// too much for a sweep makes progress all the same.
func (v *delivery) deliverSet(ctx context.Context, items []Item) {
	route := v.group.route
	for len(items) > 0 {
		if err := context.Cause(ctx); err != nil {
			v.fail(route, audit.DeliveryFailed, err.Error())
			return
		}
		batch, rest, unwritten := v.claimBatch(ctx, items)
		v.unwritten(route, "could not be updated and is left out", unwritten)
		items = rest
		left, err := v.send(ctx, route, batch, "")
		switch {
		case err == nil:
		case !errors.Is(err, ErrRefused):
			v.release(ctx, left, "")
			v.fail(route, audit.DeliveryFailed, err.Error())
			return // the next sweep may succeed
		default:
			v.fail(route, audit.DeliveryRefused, err.Error())
			if route.Fallback == nil {
				v.release(ctx, left, err.Error())
				return
			}
			v.refused, v.reason = append(v.refused, left...), err.Error()
		}
	}
}

// claimBatch claims as many items as there is time for.
func (v *delivery) claimBatch(ctx context.Context, items []Item) (batch, rest []Item, failed []failedItem) {
	within := MaxDelivery
	if end, ok := ctx.Deadline(); ok {
		within = time.Until(end) / claimPart
	}
	began := time.Now()
	batch, rest, failed = v.claim(ctx, items, within)
	if n := len(items) - len(rest); n > 0 {
		v.perWrite = time.Since(began) / time.Duration(n)
	}
	return batch, rest, failed
}

// hasTimeToRecord reports whether so many items can be recorded in the time left.
func (v *delivery) hasTimeToRecord(ctx context.Context, n int) bool {
	end, ok := ctx.Deadline()
	return !ok || time.Until(end) > time.Duration(n)*v.perWrite
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
	v.sent = false
	left, err := v.send(ctx, to, v.refused, v.group.owner+": "+v.reason)
	switch {
	case err == nil && v.sent:
		v.result(to, audit.DeliverySent, "")
	case err == nil:
	case errors.Is(err, ErrRefused):
		v.release(ctx, left, v.reason)
		v.result(to, audit.DeliveryRefused, err.Error())
	default:
		v.release(ctx, left, "") // the next sweep may reach the fallback owner
		v.result(to, audit.DeliveryFailed, err.Error())
	}
}

// send sends the messages of a digest one after the other, and records each before the
// next one. It returns the items that are left, with the reason. A message whose response
// is lost holds up only the replies to it.
func (v *delivery) send(ctx context.Context, route Route, items []Item, fallbackReason string) (left []Item, err error) {
	sender := v.senderNamed(route.Sender)
	if sender == nil {
		return items, fmt.Errorf("there is no sender %s", route.Sender)
	}
	plan := sender.Plan(v.digest(route, items, fallbackReason))
	sent, lost, inARow := make([]audit.MessageRef, len(plan)), make([]bool, len(plan)), 0
	left = slices.Clone(items)
	for i := range plan {
		m := &plan[i]
		if err := context.Cause(ctx); err != nil {
			return left, err
		}
		thread := m.Thread
		if m.Parent != NoParent {
			if lost[m.Parent] {
				lost[i] = true
				continue
			}
			thread = sent[m.Parent]
		}
		if covered, _ := m.split(left); len(m.Covers) > 0 && len(covered) == 0 {
			lost[i] = true // what it replies to could not be recorded
			continue
		}
		if m.Optional {
			v.optional = append(v.optional, outgoing{sender, route.To, *m, thread})
			continue
		}
		if !v.hasTimeToRecord(ctx, len(m.Covers)) {
			return left, errNoTime
		}
		m.Key = v.messageKey(m, left)
		var failed []failedItem
		sent[i], err = sender.Send(ctx, route.To, *m, thread)
		switch {
		case err == nil:
			v.sent, inARow = true, 0
			left, failed = v.recordSent(ctx, left, m, sent[i])
		case !errors.Is(err, ErrUnconfirmed):
			return left, err
		default:
			lost[i] = true
			left, failed = v.recordUnconfirmed(ctx, left, m, err.Error())
			v.result(route, audit.DeliveryFailed, err.Error())
			if inARow++; inARow == maxUnconfirmed && len(left) > 0 {
				return left, fmt.Errorf("the responses to %d messages were lost, the others wait for the next sweep", inARow)
			}
		}
		v.unwritten(route, "could not be recorded after it was sent", failed)
	}
	// What is left belongs to replies to lost messages, or to none.
	for _, it := range left {
		if !slices.ContainsFunc(plan, func(m Message) bool { covered, _ := m.split([]Item{it}); return len(covered) > 0 }) {
			return left, fmt.Errorf("no message covers finding %s", it.Record.ID)
		}
	}
	v.release(ctx, left, "")
	return nil, nil
}

// messageKey returns the key of a message: that of an earlier attempt to send the same
// items, or else one that no other message has.
func (v *delivery) messageKey(m *Message, items []Item) string {
	covered, _ := m.split(items)
	h := sha256.New()
	for i, it := range covered {
		if it.attempt.ID == "" || it.attempt.ID != covered[0].attempt.ID {
			break
		}
		if i == len(covered)-1 {
			return it.attempt.ID
		}
	}
	for _, it := range covered {
		fmt.Fprintf(h, "%q %q %d %q %q\n", v.sender, it.claim.By, it.claim.At.Unix(), it.Record.ID, it.Event)
		for _, owner := range it.Owners {
			fmt.Fprintf(h, "%q\n", owner)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
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

// fail adds the outcome of a digest that was not sent as a whole.
func (v *delivery) fail(to Route, r audit.DeliveryResult, reason string) {
	v.failed = true
	v.result(to, r, reason)
}

// unwritten names findings that could not be stored.
func (v *delivery) unwritten(to Route, what string, failed []failedItem) {
	if len(failed) == 0 {
		return
	}
	reason := fmt.Sprintf("finding %s %s: %v", failed[0].id, what, failed[0].err)
	if len(failed) > 1 {
		var others []string
		for _, f := range failed[1:min(len(failed), maxNamed)] {
			others = append(others, f.id)
		}
		if more := len(failed) - maxNamed; more > 0 {
			others = append(others, fmt.Sprintf("and %d more", more))
		}
		reason += "; so are " + strings.Join(others, ", ")
	}
	v.result(to, audit.DeliveryFailed, reason)
}

func (v *delivery) result(to Route, r audit.DeliveryResult, reason string) {
	d := audit.Delivery{Sender: to.Sender, Owner: to.To.Owner, Result: r, Reason: reason}
	if !slices.Contains(v.results, d) {
		v.results = append(v.results, d)
	}
}

// digest returns the digest of some items.
func (v *delivery) digest(to Route, items []Item, fallbackReason string) Digest {
	dg := Digest{
		Cluster: v.Cluster, Namespace: v.Namespace, To: to.To, FallbackReason: fallbackReason, Items: items, Open: v.group.open,
		Earlier: map[audit.MessageRef][]Item{}, Now: v.Clock(), Guide: v.Guide,
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
