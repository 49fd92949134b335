package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Told is what one owner was told of a finding by one sender, and what is to be
// told. A finding has one for each sender and owner, sorted by both. What is to be
// told is stored in it before it is sent, and what was told after the answer.
type Notification struct {
	Sender, Owner string
	Pending       Event // what is to be told; empty: nothing
	Claim         Claim // who is telling it
	Last          Event // what was told last; empty: nothing yet
	At            time.Time
	// Place is the message that told of the opening: where all else goes beneath.
	Message MessageRef
	// Error says why the receiver refused it for good. It goes when it accepts.
	Error string
}

// Event is something that an owner is told of a finding.
type Event string

// What owners are told.
const (
	EventOpened   Event = "opened"
	EventReopened Event = "reopened"
	EventChanged  Event = "changed"
	// EventDetails is what stands beneath a message that told of the opening.
	EventDetails  Event = "details"
	EventResolved Event = "resolved"
	EventReleased Event = "released" // it is still there, and not theirs any more
	// EventReminder tells that it is still open. It is never Due: it follows from
	// when something was told last.
	EventReminder Event = "reminder"
)

// Place is where a message is: the channel's ID and the message's own, as the
// receiver calls them. It is zero where the receiver has no such thing.
type MessageRef struct{ Channel, Message string }

// Taken is the claim of one publisher to tell something, so that no other does at
// the same time. The zero value is nobody's.
type Claim struct {
	By string
	At time.Time
	// Leased is true where By had the Lease: whoever has it now, By has it no more.
	WithLease bool
}

// ToldBy returns what an owner was told by a sender: nothing, where there is no
// mark of it.
func (r *Record) Notification(sender, owner string) Notification {
	for _, m := range r.Notifications {
		if m.Sender == sender && m.Owner == owner {
			return m
		}
	}
	return Notification{Sender: sender, Owner: owner}
}

// SetTold replaces what an owner was told. The list is not changed in place: other
// copies of the record may have it.
func (r *Record) SetNotification(m Notification) {
	told := slices.Clone(r.Notifications)
	for i := range told {
		if told[i].Sender == m.Sender && told[i].Owner == m.Owner {
			told[i] = m
			r.Notifications = told
			return
		}
	}
	r.Notifications = append(told, m)
	slices.SortFunc(r.Notifications, compareNotifications)
}

func compareNotifications(a, b Notification) int {
	return cmp.Or(strings.Compare(a.Sender, b.Sender), strings.Compare(a.Owner, b.Owner))
}

// Knows reports whether the owner was told that the finding is there.
func (m Notification) Notified() bool {
	switch m.Last {
	case "", EventResolved, EventReleased:
		return false
	}
	return true
}

// owe stores in a transition what it gives owners to be told. What is known of a
// finding that is carried over is as old as what they were told already.
func (r Reconciler) setPending(t *Transition) {
	rec := &t.Record
	if r.Senders == nil || t.Delete || t.Why == ReasonCarriedOver || rec.State == StatePending {
		return
	}
	was := rec.Notifications
	if rec.State == StateResolved {
		for _, m := range was {
			m.Pending = r.pendingAfterResolve(rec.Rule, m)
			rec.SetNotification(m)
		}
	} else {
		r.setPendingWhileOpen(t)
	}
	if !slices.Equal(was, rec.Notifications) {
		t.Write = true
	}
}

// dueAtEnd is what is to be told of a finding that was resolved. Whoever was never
// told of it, and was not to be, is spared the end as well.
func (r Reconciler) pendingAfterResolve(rule string, m Notification) Event {
	if m.Notified() && m.Pending != EventReleased || m.Pending != "" {
		if slices.Contains(r.Senders(rule, m.Owner), m.Sender) {
			return EventResolved
		}
	}
	return ""
}

// oweOpen is owe for a finding that is open.
func (r Reconciler) setPendingWhileOpen(t *Transition) {
	rec := &t.Record
	wanted := map[[2]string]bool{}
	for _, owner := range rec.Owners {
		for _, sender := range r.Senders(rec.Rule, owner) {
			wanted[[2]string{sender, owner}] = true
			m := rec.Notification(sender, owner)
			if m == (Notification{Sender: sender, Owner: owner}) && r.MaxNotifications > 0 && len(rec.Notifications) >= r.MaxNotifications {
				continue
			}
			due := pendingWhileOpen(m, t)
			if due != m.Pending && (due == EventOpened || due == EventReopened) {
				t.newToOwner = true
			}
			m.Pending = due
			rec.SetNotification(m)
		}
	}
	for _, m := range rec.Notifications {
		if wanted[[2]string{m.Sender, m.Owner}] {
			continue
		}
		m.Pending = ""
		owns := slices.Contains(rec.Owners, m.Owner)
		if m.Notified() && !owns && slices.Contains(r.Senders(rec.Rule, m.Owner), m.Sender) {
			m.Pending = EventReleased
		}
		rec.SetNotification(m)
	}
	// Of one who is no owner any more and knows it, or never knew, nothing is kept.
	rec.Notifications = slices.DeleteFunc(slices.Clone(rec.Notifications), func(m Notification) bool {
		return !slices.Contains(rec.Owners, m.Owner) && m.Pending == "" && !m.Notified()
	})
}

// dueWhileOpen is what an owner is to be told of a finding that is open.
func pendingWhileOpen(m Notification, t *Transition) Event {
	switch {
	case !m.Notified() && m.Last == EventResolved:
		return EventReopened
	case !m.Notified():
		return EventOpened
	case t.Why == ReasonReopened:
		return EventReopened
	case m.Pending == EventResolved, m.Pending == EventReleased:
		return EventChanged
	case t.Why == ReasonChanged && t.significant && (m.Pending == "" || m.Pending == EventDetails):
		return EventChanged
	}
	return m.Pending
}
