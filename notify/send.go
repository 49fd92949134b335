package notify

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// digest makes the digest of some items.
func (v *delivery) digest(route Route, items []Item, instead string) Digest {
	dg := Digest{
		Cluster: v.Cluster, Namespace: v.Namespace, To: route.To, FallbackReason: instead, Items: items, Open: v.group.open,
		Earlier: map[audit.MessageRef][]Item{}, Now: v.Clock(),
	}
	for _, it := range items {
		if it.Message == (audit.MessageRef{}) || dg.Earlier[it.Message] != nil {
			continue
		}
		for _, id := range v.places[placeKey{v.group.sender, it.Message}] {
			rec := v.ledger.record(id)
			dg.Earlier[it.Message] = append(dg.Earlier[it.Message], Item{Record: rec, Message: it.Message})
		}
		sortItems(dg.Earlier[it.Message])
	}
	return dg
}

// placeKey is a message as a sender knows it.
type placeKey struct {
	sender string
	place  audit.MessageRef
}

// byPlace returns the IDs of the findings that each message told the opening of.
func byPlace(stored []audit.Stored) map[placeKey][]string {
	out := map[placeKey][]string{}
	for _, s := range stored {
		for _, m := range s.Notifications {
			if m.Message == (audit.MessageRef{}) {
				continue
			}
			key := placeKey{m.Sender, m.Message}
			if ids := out[key]; len(ids) == 0 || ids[len(ids)-1] != s.ID {
				out[key] = append(ids, s.ID)
			}
		}
	}
	return out
}

// send sends the messages of a digest one after the other, and stores after each
// answer what was told by it. It returns what was not told, with the reason.
func (v *delivery) send(ctx context.Context, route Route, items []Item, instead string) (left []Item, err error) {
	sender := v.senderNamed(route.Sender)
	if sender == nil {
		return items, errors.New("there is no sender " + route.Sender)
	}
	plan := sender.Plan(v.digest(route, items, instead))
	places := make([]audit.MessageRef, len(plan))
	left = slices.Clone(items)
	for i, m := range plan {
		if err := context.Cause(ctx); err != nil {
			return left, err
		}
		beneath := m.Thread
		if m.Parent != NoParent {
			beneath = places[m.Parent]
		}
		if m.Optional {
			v.minor = append(v.minor, outgoing{sender, route.To, m, beneath})
			continue
		}
		if places[i], err = sender.Send(ctx, route.To, m, beneath); err != nil {
			return left, err
		}
		if left, err = v.mark(ctx, left, m, places[i]); err != nil {
			return left, err
		}
	}
	if len(left) > 0 {
		return left, errors.New("no message told of " + left[0].Record.ID)
	}
	return nil, nil
}

// outgoing is a message that is sent after all others of a digest.
type outgoing struct {
	sender  Sender
	to      Recipient
	message Message
	beneath audit.MessageRef
}

// adorn sends what nothing is lost without. A receiver may take few of such
// messages in a minute, of all recipients together: nobody else waits for that.
func (v *delivery) adorn(ctx context.Context) {
	v.leave()
	for _, o := range v.minor {
		if ctx.Err() != nil {
			return
		}
		_, _ = o.sender.Send(ctx, o.to, o.message, o.beneath)
	}
}

// mark stores what a message told, and returns what is left to be told. It does so
// even if everything else was ended after the answer: what is told and not marked
// is told again.
func (v *delivery) mark(ctx context.Context, left []Item, m Message, at audit.MessageRef) ([]Item, error) {
	ctx, cancel := outlast(ctx, markFor)
	defer cancel()
	covered := map[itemKey]audit.Event{}
	for _, c := range m.Covers {
		covered[itemKey{c.ID, c.Event}] = c.Next
	}
	var told, rest []Item
	for _, it := range left {
		next, ok := covered[itemKey{it.Record.ID, it.Event}]
		switch {
		case !ok:
			rest = append(rest, it)
			continue
		case next != "":
			further := it
			further.Event = next
			if m.StartsThread {
				further.Message = at
			}
			rest = append(rest, further)
		}
		told = append(told, it)
	}
	err := v.each(told, func(it Item) error {
		return unlessGone(v.changeMarks(ctx, it, func(t *audit.Notification) bool {
			v.markOne(t, it, covered[itemKey{it.Record.ID, it.Event}])
			if m.StartsThread {
				t.Message = at
			}
			return true
		}))
	})
	return rest, err
}

// outlast returns a context that ends a while after another one.
func outlast(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(d):
			cancel()
		case <-longer.Done():
		}
	})
	return longer, func() { stop(); cancel() }
}

type itemKey struct {
	id    string
	event audit.Event
}

// markOne marks what one owner was told. What became due since then stays due.
func (v *delivery) markOne(t *audit.Notification, it Item, next audit.Event) {
	t.At, t.Error = v.Clock(), it.refused
	if it.Event != audit.EventReminder && it.Event != audit.EventDetails {
		t.Last = it.Event
	}
	if t.Pending == it.Event || t.Pending == "" {
		t.Pending = next
	}
	if next == "" {
		t.Claim = audit.Claim{}
	}
}
