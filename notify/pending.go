package notify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// group is what is pending for one recipient, before any publisher has claimed it.
type group struct {
	groupKey
	route Route
	items []Item
	// obsolete are the released findings of owners who can no longer be reached where
	// they were notified of them. Whoever is notified in their place never had them.
	obsolete []Item
	open     int
	refused  string // why it was refused less than audit.RefusedRetry ago
	retryAt  time.Time
	accepted time.Time // when the address last accepted a message, or may do so again
	damped   int       // events that wait because their finding keeps changing
	dampedTo time.Time // when the first of them is sent
	// unconfirmed counts the findings that wait because an earlier message about them
	// may have arrived, and next is when the first of them is sent again.
	unconfirmed int
	next        time.Time
	lost        string // why it is unknown whether it arrived
}

// groupKey identifies a recipient of a sender.
type groupKey struct{ sender, owner, address string }

func (k groupKey) compare(o groupKey) int {
	return cmp.Or(strings.Compare(k.sender, o.sender), strings.Compare(k.owner, o.owner), strings.Compare(k.address, o.address))
}

// pendingGroups returns what is pending, by sender, owner and address.
func (d *Deliverer) pendingGroups(stored []audit.Stored) []*group {
	routes, now := d.Routes, d.Clock()
	groups, accepted := map[groupKey]*group{}, lastAccepted(stored, routes)
	// Times are stored in whole seconds, and what was refused after the change stays so.
	changed := d.ChangedAt.Add(-time.Second)
	for i := range stored {
		rec := &stored[i].Record
		counted := map[*group]bool{}
		for _, n := range rec.Notifications {
			route, ok := routes.bySender(n.Sender, rec.Rule, n.Owner)
			if !ok {
				continue
			}
			key := groupKey{n.Sender, route.To.Owner, route.To.Address}
			g := groups[key]
			if g == nil {
				g = &group{groupKey: key, route: route, accepted: accepted[groupKey{sender: key.sender, address: key.address}]}
				switch {
				case d.RetryRefused:
					g.accepted = now
				case changed.After(g.accepted):
					g.accepted = changed
				}
				groups[key] = g
			}
			if rec.State == audit.StateOpen && slices.Contains(rec.Owners, n.Owner) && !counted[g] {
				counted[g] = true
				g.open++
			}
			g.add(rec, n, now)
		}
	}
	maps.DeleteFunc(groups, func(_ groupKey, g *group) bool {
		g.dropReminders(d.RemindAfter, now)
		sortItems(g.items)
		return len(g.items) == 0 && len(g.obsolete) == 0 && g.refused == "" && g.unconfirmed == 0 && g.damped == 0
	})
	return slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return a.compare(b.groupKey) })
}

// add adds what is pending in a notification. An open finding with nothing pending is
// added as a reminder, which dropReminders removes while it is too early.
func (g *group) add(rec *audit.Record, n audit.Notification, now time.Time) {
	event := n.Pending
	if event == "" && rec.State == audit.StateOpen && n.Notified() && slices.Contains(rec.Owners, n.Owner) {
		event = audit.EventReminder
	}
	if event == "" {
		return
	}
	retry := n.DeliveryState() == audit.DeliveryRejected && !g.accepted.Before(n.Claim.At)
	if retry {
		n.Retry()
	}
	if at := rec.DampedUntil(&n, now); !at.IsZero() {
		if g.damped++; g.damped == 1 || at.Before(g.dampedTo) {
			g.dampedTo = at
		}
		return
	}
	switch at, why := n.NextTry(now); why {
	case audit.DeliveryRejected:
		if g.refused == "" || at.Before(g.retryAt) {
			g.refused, g.retryAt = n.Error, at
		}
		return
	case audit.DeliveryUnconfirmed:
		if g.unconfirmed++; g.unconfirmed == 1 || at.Before(g.next) {
			g.next, g.lost = at, n.Error
		}
		return
	}
	if event == audit.EventReleased && g.owner != n.Owner && n.Message != (audit.MessageRef{}) && n.Message.Channel != g.address {
		g.obsolete = append(g.obsolete, Item{Record: *rec, Owners: []string{n.Owner}, Event: event})
		return
	}
	// The items of one finding are the last ones.
	for i := len(g.items) - 1; i >= 0 && g.items[i].Record.ID == rec.ID; i-- {
		if it := &g.items[i]; it.Event == event && it.attempt.ID == n.Attempt.ID {
			it.Owners, it.retry = append(it.Owners, n.Owner), it.retry || retry
			if n.At.Before(it.NotifiedAt) {
				it.NotifiedAt = n.At
			}
			return
		}
	}
	g.items = append(g.items, Item{
		Record: *rec, Owners: []string{n.Owner}, Event: event, Last: n.Last, Message: n.Message, NotifiedAt: n.At, attempt: n.Attempt, retry: retry,
	})
}

// lastAccepted returns when each address last accepted a message, as far as stored.
func lastAccepted(stored []audit.Stored, routes Routes) map[groupKey]time.Time {
	out := map[groupKey]time.Time{}
	for i := range stored {
		for _, n := range stored[i].Notifications {
			if n.Error != "" || n.At.IsZero() {
				continue
			}
			if route, ok := routes.bySender(n.Sender, stored[i].Rule, n.Owner); ok {
				key := groupKey{sender: n.Sender, address: route.To.Address}
				if out[key].Before(n.At) {
					out[key] = n.At
				}
			}
		}
	}
	return out
}

// dropReminders removes all reminders unless one of them is due. When one is due all
// are sent: nobody reads several lists a day.
func (g *group) dropReminders(remindAfter time.Duration, now time.Time) {
	due := remindAfter > 0 && slices.ContainsFunc(g.items, func(it Item) bool {
		return it.Event == audit.EventReminder && now.Sub(it.NotifiedAt) >= remindAfter
	})
	if !due {
		g.items = slices.DeleteFunc(g.items, func(it Item) bool { return it.Event == audit.EventReminder })
	}
}

// sets returns the items in the sets in which they are sent: those of an earlier message
// whose outcome is unknown once more together, so that a receiver can recognize that
// message, and after all others, which must not wait for them.
func (g *group) sets() [][]Item {
	by := map[string][]Item{}
	for _, it := range g.items {
		by[it.attempt.ID] = append(by[it.attempt.ID], it)
	}
	var out [][]Item
	for _, id := range slices.Sorted(maps.Keys(by)) { // the others have no ID
		out = append(out, by[id])
	}
	return out
}

// oldestFirst sorts items by the time since when they are pending, as far as that is
// stored, and otherwise leaves them in their order.
func oldestFirst(items []Item) []Item {
	out := slices.Clone(items)
	slices.SortStableFunc(out, func(a, b Item) int { return a.since().Compare(b.since()) })
	return out
}

func (it *Item) since() time.Time {
	switch {
	case it.Event == audit.EventReminder:
		return it.NotifiedAt
	case it.Record.State == audit.StateResolved:
		return it.Record.ResolvedAt
	}
	return it.Record.OpenedAt
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
