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
type Told struct {
	Sender, Owner string
	Due           Event // what is to be told; empty: nothing
	Taken         Taken // who is telling it
	Last          Event // what was told last; empty: nothing yet
	At            time.Time
	// Place is the message that told of the opening: where all else goes beneath.
	Place Place
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
type Place struct{ Channel, Message string }

// Taken is the claim of one publisher to tell something, so that no other does at
// the same time. The zero value is nobody's.
type Taken struct {
	By string
	At time.Time
	// Leased is true where By had the Lease: whoever has it now, By has it no more.
	Leased bool
}

// ToldBy returns what an owner was told by a sender: nothing, where there is no
// mark of it.
func (r *Record) ToldBy(sender, owner string) Told {
	for _, m := range r.Told {
		if m.Sender == sender && m.Owner == owner {
			return m
		}
	}
	return Told{Sender: sender, Owner: owner}
}

// SetTold replaces what an owner was told. The list is not changed in place: other
// copies of the record may have it.
func (r *Record) SetTold(m Told) {
	told := slices.Clone(r.Told)
	for i := range told {
		if told[i].Sender == m.Sender && told[i].Owner == m.Owner {
			told[i] = m
			r.Told = told
			return
		}
	}
	r.Told = append(told, m)
	slices.SortFunc(r.Told, compareTold)
}

func compareTold(a, b Told) int {
	return cmp.Or(strings.Compare(a.Sender, b.Sender), strings.Compare(a.Owner, b.Owner))
}

// Knows reports whether the owner was told that the finding is there.
func (m Told) Knows() bool {
	switch m.Last {
	case "", EventResolved, EventReleased:
		return false
	}
	return true
}

// owe stores in a transition what it gives owners to be told. What is known of a
// finding that is carried over is as old as what they were told already.
func (r Reconciliation) owe(t *Transition) {
	rec := &t.Record
	if r.Tell == nil || t.Delete || t.Why == CarriedOver || rec.State == Pending {
		return
	}
	was := rec.Told
	if rec.State == Resolved {
		for _, m := range was {
			m.Due = r.dueAtEnd(rec.Rule, m)
			rec.SetTold(m)
		}
	} else {
		r.oweOpen(t)
	}
	if !slices.Equal(was, rec.Told) {
		t.Write = true
	}
}

// dueAtEnd is what is to be told of a finding that was resolved. Whoever was never
// told of it, and was not to be, is spared the end as well.
func (r Reconciliation) dueAtEnd(rule string, m Told) Event {
	if m.Knows() && m.Due != EventReleased || m.Due != "" {
		if slices.Contains(r.Tell(rule, m.Owner), m.Sender) {
			return EventResolved
		}
	}
	return ""
}

// oweOpen is owe for a finding that is open.
func (r Reconciliation) oweOpen(t *Transition) {
	rec := &t.Record
	wanted := map[[2]string]bool{}
	for _, owner := range rec.Owners {
		for _, sender := range r.Tell(rec.Rule, owner) {
			wanted[[2]string{sender, owner}] = true
			m := rec.ToldBy(sender, owner)
			if m == (Told{Sender: sender, Owner: owner}) && r.MaxTold > 0 && len(rec.Told) >= r.MaxTold {
				continue
			}
			due := dueWhileOpen(m, t)
			if due != m.Due && (due == EventOpened || due == EventReopened) {
				t.announces = true
			}
			m.Due = due
			rec.SetTold(m)
		}
	}
	for _, m := range rec.Told {
		if wanted[[2]string{m.Sender, m.Owner}] {
			continue
		}
		m.Due = ""
		owns := slices.Contains(rec.Owners, m.Owner)
		if m.Knows() && !owns && slices.Contains(r.Tell(rec.Rule, m.Owner), m.Sender) {
			m.Due = EventReleased
		}
		rec.SetTold(m)
	}
	// Of one who is no owner any more and knows it, or never knew, nothing is kept.
	rec.Told = slices.DeleteFunc(slices.Clone(rec.Told), func(m Told) bool {
		return !slices.Contains(rec.Owners, m.Owner) && m.Due == "" && !m.Knows()
	})
}

// dueWhileOpen is what an owner is to be told of a finding that is open.
func dueWhileOpen(m Told, t *Transition) Event {
	switch {
	case !m.Knows() && m.Last == EventResolved:
		return EventReopened
	case !m.Knows():
		return EventOpened
	case t.Why == Reopened:
		return EventReopened
	case m.Due == EventResolved, m.Due == EventReleased:
		return EventChanged
	case t.Why == Changed && t.matters && (m.Due == "" || m.Due == EventDetails):
		return EventChanged
	}
	return m.Due
}
