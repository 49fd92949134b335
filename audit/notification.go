package audit

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

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

// rename gives what former owners were notified of to owners who have their place under
// another name, and were not notified themselves. What a publisher is sending stays.
func rename(rec *Record, sameReader func(rule string, was Notification, owner string) bool) {
	if rec.State != StateOpen {
		return
	}
	for _, was := range rec.Notifications {
		if slices.Contains(rec.Owners, was.Owner) || !was.Notified() || was.Claim.By != "" {
			continue
		}
		for _, owner := range rec.Owners {
			if rec.Notification(was.Sender, owner) != (Notification{Sender: was.Sender, Owner: owner}) || !sameReader(rec.Rule, was, owner) {
				continue
			}
			rec.Notifications = slices.DeleteFunc(slices.Clone(rec.Notifications), func(n Notification) bool {
				return n.Sender == was.Sender && n.Owner == was.Owner
			})
			if was.Owner = owner; was.Pending == EventReleased {
				was.Pending = ""
			}
			rec.SetNotification(was)
			break
		}
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
	// A former owner who was never notified is forgotten, but not while a publisher may be
	// notifying them. One who was notified of that is remembered while they might return,
	// and until something else is written.
	rec.Notifications = slices.DeleteFunc(slices.Clone(rec.Notifications), func(n Notification) bool {
		remembered := n.Last == EventReleased && (!t.Write || now.Sub(n.At) < rememberFor)
		return !slices.Contains(rec.Owners, n.Owner) && n.Pending == "" && !n.Notified() && n.Claim.By == "" && !remembered
	})
	t.makeRoom(most)
}

// pendingWhileOpen returns the pending event of an open finding for one owner.
func pendingWhileOpen(n Notification, t *Transition) Event {
	switch {
	case !n.Notified() && n.Last != "": // it was resolved, or no longer theirs
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
	// NotReady is true if nothing can be sent, such as without a token, whether or not
	// anything is pending.
	NotReady bool
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

// makeRoom removes what a store has no room for: notifications of those who are no
// longer owners of a finding, with those first who know it, then those of owners who are
// not in the record.
func (t *Transition) makeRoom(most int) {
	rec := &t.Record
	left := len(rec.Notifications) - most
	if most <= 0 || left <= 0 {
		return
	}
	everyone := slices.Concat(rec.Owners, t.overflow)
	for i, of := range [][]string{everyone, everyone, rec.Owners} {
		rec.Notifications = slices.DeleteFunc(slices.Clone(rec.Notifications), func(n Notification) bool {
			remove := left > 0 && !slices.Contains(of, n.Owner) && (i > 0 || n.Pending == "" && n.Last == EventReleased)
			if remove {
				left--
			}
			return remove
		})
	}
}
