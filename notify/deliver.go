package notify

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

const (
	// deliverFor is how long delivering may take after one sweep, and takenFor how
	// long nobody else tells what was taken: longer, so that who took it has
	// stopped by then, and so much that clocks may differ.
	deliverFor = 4 * time.Minute
	takenFor   = 10 * time.Minute
	// refusedFor is how long what was refused is not tried again: every try costs
	// two writes of each finding.
	refusedFor = time.Hour
	// markFor is how long storing what was told may take after everything else was
	// ended: what is not stored is told again.
	markFor = 10 * time.Second
	// recipientsAtOnce and writesAtOnce bound what is under way.
	recipientsAtOnce = 32
	writesAtOnce     = 8
)

// Deliverer tells owners what is stored to be told, and stores that they were.
type Deliverer struct {
	Store     audit.Store
	Senders   []Sender
	Routes    Routes
	Cluster   string
	Namespace string // the namespace of the store
	// Me names this publisher, and no other that may be at work. Leased is true
	// where it has the Lease.
	Publisher string
	Leased    bool
	// RemindAfter is how long an owner hears nothing of a finding that is open;
	// zero: for ever.
	RemindAfter time.Duration
	Clock       func() time.Time
}

// Deliver tells recipients, several at a time, and returns what became of each
// digest, sorted by sender, owner and result. What could not be sent stays due. A
// context that ends stops it.
func (d *Deliverer) Deliver(ctx context.Context, stored []audit.Stored) []audit.Delivery {
	ctx, cancel := context.WithTimeout(ctx, deliverFor)
	defer cancel()
	groups := d.groups(stored)
	l := newLedger(d.Store, stored, writesAtOnce)
	places := byPlace(stored)
	var mu sync.Mutex
	var out []audit.Delivery
	var wait sync.WaitGroup
	slots := make(chan struct{}, recipientsAtOnce)
	for _, g := range groups {
		slots <- struct{}{}
		wait.Go(func() {
			v := &delivery{Deliverer: d, ledger: l, group: g, places: places, leave: sync.OnceFunc(func() { <-slots })}
			defer v.leave()
			done := v.run(ctx)
			mu.Lock()
			out = append(out, done...)
			mu.Unlock()
			v.adorn(ctx)
		})
	}
	wait.Wait()
	slices.SortFunc(out, audit.CompareDeliveries)
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

// delivery tells one recipient.
type delivery struct {
	*Deliverer
	ledger *ledger
	group  *group
	places map[placeKey][]string
	// leave makes room for the next recipient. It is called before anything that
	// many recipients wait for together, such as the fallback owner's channel.
	leave func()
	minor []outgoing
}

func (v *delivery) run(ctx context.Context) []audit.Delivery {
	g := v.group
	var out []audit.Delivery
	if g.refused != "" {
		out = append(out, g.result(audit.DeliveryRefused, g.refused))
	}
	if err := v.forget(ctx, g.moot); err != nil {
		out = append(out, g.result(audit.DeliveryFailed, "forget who was told: "+err.Error()))
	}
	switch {
	case len(g.items) == 0:
		return out
	case g.held:
		return append(out, g.result(audit.DeliveryHeld, "quiet hours"))
	}
	items, err := v.take(ctx, g.items)
	if err != nil {
		return append(out, g.result(audit.DeliveryFailed, "take it: "+err.Error()))
	}
	if len(items) == 0 {
		return out // others tell it
	}
	left, err := v.send(ctx, g.route, items, "")
	if err == nil {
		return append(out, g.result(audit.DeliverySent, ""))
	}
	return append(out, v.failed(ctx, left, err)...)
}

// failed sees to what could not be sent: it goes to the fallback owner where it was
// refused, and is let go of where it may go later.
func (v *delivery) failed(ctx context.Context, left []Item, err error) []audit.Delivery {
	g := v.group
	if !errors.Is(err, ErrRefused) {
		v.release(ctx, left, "")
		return []audit.Delivery{g.result(audit.DeliveryFailed, err.Error())}
	}
	out := []audit.Delivery{g.result(audit.DeliveryRefused, err.Error())}
	if g.route.Fallback == nil {
		v.release(ctx, left, err.Error())
		return out
	}
	v.leave()
	instead := *g.route.Fallback
	for i := range left {
		left[i].refused = err.Error()
		if left[i].Message.Channel != instead.To.Address {
			left[i].Message = audit.MessageRef{} // the thread is where it was refused
		}
	}
	left, err = v.send(ctx, instead, left, g.route.To.Owner+": "+err.Error())
	result := audit.Delivery{Sender: instead.Sender, Owner: instead.To.Owner, Result: audit.DeliverySent}
	switch {
	case errors.Is(err, ErrRefused):
		v.release(ctx, left, out[0].Reason)
		result.Result, result.Reason = audit.DeliveryRefused, err.Error()
	case err != nil:
		// The fallback owner may be reached with the next sweep.
		v.release(ctx, left, "")
		result.Result, result.Reason = audit.DeliveryFailed, err.Error()
	}
	return append(out, result)
}

func (g *group) result(r audit.DeliveryResult, reason string) audit.Delivery {
	return audit.Delivery{Sender: g.route.Sender, Owner: g.route.To.Owner, Result: r, Reason: reason}
}
