package notify

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// group is what one recipient is to be told, before anybody has taken it.
type group struct {
	sender string // under whose name it is stored what was told
	route  Route
	items  []Item
	// moot is what there is nobody left to tell: that a finding is not theirs any
	// more, of those who cannot be reached where they were told of it. Whoever is
	// told in their place never had it.
	moot []Item
	open int
	// held and refused are true of a group that has to wait: for the end of quiet
	// hours, or until it is worth while to try again what was refused.
	held    bool
	refused string // why it was refused
}

// groupKey tells recipients of a sender apart.
type groupKey struct{ sender, via, owner, address string }

// groups returns what is to be told, by sender, recipient and address.
func (d *Deliverer) groups(stored []audit.Stored) []*group {
	by := map[groupKey]*group{}
	now := d.Clock()
	for i := range stored {
		rec := &stored[i].Record
		counted := map[*group]bool{}
		for _, m := range rec.Notifications {
			route, ok := d.routeOf(rec.Rule, m)
			if !ok {
				continue
			}
			key := groupKey{m.Sender, route.Sender, route.To.Owner, route.To.Address}
			g := by[key]
			if g == nil {
				g = &group{sender: m.Sender, route: route}
				by[key] = g
			}
			if rec.State == audit.StateOpen && slices.Contains(rec.Owners, m.Owner) && !counted[g] {
				counted[g] = true
				g.open++
			}
			g.add(rec, m, now)
		}
	}
	out := make([]*group, 0, len(by))
	for _, g := range by {
		if g.settle(d.RemindAfter, now); len(g.items) > 0 || len(g.moot) > 0 || g.refused != "" {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b *group) int {
		return cmp.Or(strings.Compare(a.sender, b.sender), strings.Compare(a.route.To.Owner, b.route.To.Owner),
			strings.Compare(a.route.To.Address, b.route.To.Address), strings.Compare(a.route.Sender, b.route.Sender))
	})
	return out
}

// route returns the way that what a mark says is told by.
func (d *Deliverer) routeOf(rule string, m audit.Notification) (Route, bool) {
	for _, r := range d.Routes(rule, m.Owner) {
		if r.Sender == m.Sender {
			return r, true
		}
	}
	return Route{}, false
}

// add adds what a mark says is due. What is open and not due is added as something
// to be reminded of: settle takes it out where it is too early.
func (g *group) add(rec *audit.Record, m audit.Notification, now time.Time) {
	event := m.Pending
	if event == "" && rec.State == audit.StateOpen && m.Notified() && slices.Contains(rec.Owners, m.Owner) {
		event = audit.EventReminder
	}
	switch {
	case event == "":
		return
	case m.Error != "" && now.Sub(m.Claim.At) < refusedFor:
		g.refused = m.Error
		return
	}
	if event == audit.EventReleased && g.route.To.Owner != m.Owner && m.Message != (audit.MessageRef{}) && m.Message.Channel != g.route.To.Address {
		g.moot = append(g.moot, Item{Record: *rec, Owners: []string{m.Owner}, Event: event})
		return
	}
	// What was added of the same finding stands last.
	for i := len(g.items) - 1; i >= 0 && g.items[i].Record.ID == rec.ID; i-- {
		if it := &g.items[i]; it.Event == event {
			it.Owners = append(it.Owners, m.Owner)
			if m.At.Before(it.NotifiedAt) {
				it.NotifiedAt = m.At
			}
			return
		}
	}
	g.items = append(g.items, Item{
		Record: *rec, Owners: []string{m.Owner}, Event: event, Last: m.Last, Message: m.Message, NotifiedAt: m.At,
	})
}

// settle sorts the items. Once it is time to remind of one finding it is of all:
// several lists a day would be read by nobody.
func (g *group) settle(remindAfter time.Duration, now time.Time) {
	remind := remindAfter > 0 && slices.ContainsFunc(g.items, func(it Item) bool {
		return it.Event == audit.EventReminder && now.Sub(it.NotifiedAt) >= remindAfter
	})
	if !remind {
		g.items = slices.DeleteFunc(g.items, func(it Item) bool { return it.Event == audit.EventReminder })
	}
	sortItems(g.items)
	g.held = g.route.Quiet
}

func sortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Record.Severity, a.Record.Severity), strings.Compare(a.Record.Rule, b.Record.Rule),
			a.Record.Subject.Compare(b.Record.Subject), strings.Compare(string(a.Event), string(b.Event)))
	})
}
