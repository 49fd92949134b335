package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Notification is what one sender has sent, and has yet to send, to one owner about
// a finding. A finding has one for each sender and owner, sorted by both. An event
// is stored here before it is sent, and recorded as sent after the response.
type Notification struct {
	Sender, Owner string
	Pending       Event // to be sent; empty if nothing is
	Claim         Claim // of the publisher that is sending it
	Last          Event // sent last; empty if nothing was
	At            time.Time
	// Message is the message about the opening. All others are replies to it.
	Message MessageRef
	// Error says why the receiver refused it permanently, or why it is unknown whether
	// it arrived. It is cleared when the receiver accepts a message.
	Error string
	// Attempt is the attempt to send Pending whose outcome is unknown; zero if there is
	// none.
	Attempt Attempt
}

// Notified reports whether the owner was notified that the finding exists.
func (n Notification) Notified() bool {
	switch n.Last {
	case "", EventResolved, EventReleased:
		return false
	}
	return true
}

func compareNotifications(a, b Notification) int {
	return cmp.Or(strings.Compare(a.Sender, b.Sender), strings.Compare(a.Owner, b.Owner))
}

// Event is what an owner is notified of.
type Event string

// The events of a finding.
const (
	EventOpened   Event = "opened"
	EventReopened Event = "reopened"
	EventChanged  Event = "changed"
	// EventDetails is the reply with details to a message about the opening.
	EventDetails  Event = "details"
	EventResolved Event = "resolved"
	EventReleased Event = "released" // it still exists, but has another owner
	// EventReminder says that it is still open. It is never pending, because it
	// follows from the time of the last message.
	EventReminder Event = "reminder"
)

// MessageRef locates a message: the IDs of the channel and of the message, as the
// receiver has them. It is zero for a receiver that has no such IDs.
type MessageRef struct{ Channel, Message string }

// setPending stores in a transition the events that owners are to be notified of, by
// the senders of a rule and owner, in at most so many notifications. For a finding
// that is carried over nothing is known that they were not already notified of.
func setPending(t *Transition, senders func(rule, owner string) []string, most int, now time.Time) {
	rec := &t.Record
	if senders == nil || t.Delete || t.Why == ReasonCarriedOver || rec.State == StatePending {
		return
	}
	was := rec.Notifications
	if rec.State == StateResolved {
		for _, n := range was {
			n.setPending(pendingAfterResolve(n, senders(rec.Rule, n.Owner), now))
			rec.SetNotification(n)
		}
	} else {
		setPendingWhileOpen(t, senders, most, now)
	}
	if !slices.Equal(was, rec.Notifications) {
		t.Write = true
	}
}

// pendingAfterResolve returns the pending event of a resolved finding. An owner who
// was never notified of the finding, and has no pending event, is not notified of its
// end.
func pendingAfterResolve(n Notification, senders []string, now time.Time) Event {
	if (n.mayBeNotified(now) || n.Pending != "") && slices.Contains(senders, n.Sender) {
		return EventResolved
	}
	return ""
}

// setPendingWhileOpen is setPending for an open finding.
func setPendingWhileOpen(t *Transition, senders func(rule, owner string) []string, most int, now time.Time) {
	rec := &t.Record
	wanted := map[[2]string]bool{}
	for _, owner := range rec.Owners {
		for _, sender := range senders(rec.Rule, owner) {
			wanted[[2]string{sender, owner}] = true
			n := rec.Notification(sender, owner)
			pending := pendingWhileOpen(n, t)
			if pending != n.Pending && (pending == EventOpened || pending == EventReopened) {
				t.newToOwner = true
			}
			n.setPending(pending)
			rec.SetNotification(n)
		}
	}
	for _, n := range rec.Notifications {
		if wanted[[2]string{n.Sender, n.Owner}] {
			continue
		}
		pending := Event("")
		owns := slices.Contains(rec.Owners, n.Owner) || slices.Contains(t.overflow, n.Owner)
		if n.mayBeNotified(now) && !owns && slices.Contains(senders(rec.Rule, n.Owner), n.Sender) {
			pending = EventReleased
		}
		n.setPending(pending)
		rec.SetNotification(n)
	}
	// A former owner who was notified of that, or was never notified, is forgotten, but
	// not while a publisher may be notifying them.
	rec.Notifications = slices.DeleteFunc(slices.Clone(rec.Notifications), func(n Notification) bool {
		return !slices.Contains(rec.Owners, n.Owner) && n.Pending == "" && !n.Notified() && n.Claim.By == ""
	})
	t.makeRoom(most)
}

// pendingWhileOpen returns the pending event of an open finding for one owner.
func pendingWhileOpen(n Notification, t *Transition) Event {
	switch {
	case !n.Notified() && n.Last == EventResolved:
		return EventReopened
	case !n.Notified():
		return EventOpened
	case t.Why == ReasonReopened:
		return EventReopened
	case n.Pending == EventResolved, n.Pending == EventReleased:
		return EventChanged
	case t.news && (n.Pending == "" || n.Pending == EventDetails):
		return EventChanged
	}
	return n.Pending
}

// Delivery is the outcome of one digest.
type Delivery struct {
	Sender string // such as slack
	Owner  string // the recipient
	Result DeliveryResult
	// Reason says why it was not sent. It contains no secret.
	Reason string
	// NextTry is when a refused digest is sent again; zero if that is not known.
	NextTry time.Time
}

// DeliveryResult says whether a message arrived.
type DeliveryResult string

// The results of a delivery.
const (
	DeliverySent    DeliveryResult = "sent"
	DeliveryFailed  DeliveryResult = "failed"  // temporarily: the next sweep tries again
	DeliveryRefused DeliveryResult = "refused" // permanently: the config, or the receiver, must change
	DeliveryHeld    DeliveryResult = "held"    // until the owner's quiet hours end
)

// CompareDeliveries orders deliveries by sender, owner, result and reason.
func CompareDeliveries(a, b Delivery) int {
	return cmp.Or(strings.Compare(a.Sender, b.Sender), strings.Compare(a.Owner, b.Owner),
		cmp.Compare(a.Result, b.Result), strings.Compare(a.Reason, b.Reason))
}

// Undelivered returns the deliveries that failed or were refused.
func Undelivered(all []Delivery) []Delivery {
	return slices.DeleteFunc(slices.Clone(all), func(d Delivery) bool { return d.Result == DeliverySent || d.Result == DeliveryHeld })
}

// Message is a message that would be sent.
type Message struct {
	Sender  string
	Owner   string
	Address string // where the sender would send it; empty if it needs no address
	Held    bool   // until quiet hours end
	Text    string // as the recipient would see it
}
