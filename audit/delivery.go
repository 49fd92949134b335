package audit

import (
	"cmp"
	"strings"
	"time"
)

// The delivery of one notification is a small state machine: what one sender has yet to
// tell one owner about one finding, and who may move that. This file has all of its
// transitions; docs/notifications.md shows them as a table. Each transition is stored by
// compare-and-swap, so a publisher that lost its claim changes nothing.

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

// DeliveryState is where a notification is on its way to the owner.
type DeliveryState string

// The states of a notification.
const (
	// DeliveryIdle: nothing is pending.
	DeliveryIdle DeliveryState = "idle"
	// DeliveryPending: an event is pending, and any publisher may claim it.
	DeliveryPending DeliveryState = "pending"
	// DeliveryClaimed: a publisher is sending the event.
	DeliveryClaimed DeliveryState = "claimed"
	// DeliveryUnconfirmed: the event was sent, and the response was lost. It waits
	// before it is sent again.
	DeliveryUnconfirmed DeliveryState = "unconfirmed"
	// DeliveryRejected: the receiver refused the event. It waits before it is sent again.
	DeliveryRejected DeliveryState = "rejected"
)

const (
	// dampFor is how long a finding that keeps changing is quiet after a message about it.
	dampFor = time.Hour
	// dampQuiet is for how long a finding must be open, or resolved, before it no longer
	// comes and goes.
	dampQuiet = 30 * time.Minute
	// dampFrom is how often a finding has returned when it is one that comes and goes.
	dampFrom = 2
	// rememberFor is how long a former owner is remembered who might return.
	rememberFor = 24 * time.Hour
	// RefusedRetry is how long to wait before what was refused is tried again: each try
	// costs two writes per finding.
	RefusedRetry = time.Hour
	// ClaimExpiry is how long a publisher must have seen a claim of another one before
	// it may take over. It exceeds the time that a publisher takes to send and record
	// what it has claimed.
	ClaimExpiry = 10 * time.Minute
	// maxSkew is how far clocks may differ. A claim is taken over by its stored time
	// only if it is older, or further ahead, than clocks can explain.
	maxSkew = time.Hour
)

// Claim is held by the publisher that is about to send an event, so that no other
// sends it too. The zero value is held by no one.
type Claim struct {
	By string
	At time.Time
	// WithLease is true if By held the Lease. If another publisher holds it now, By
	// has lost it.
	WithLease bool
}

// Is reports whether two claims are the same one: the name and the time of a claim
// identify it.
func (c Claim) Is(o Claim) bool { return c.By != "" && c.By == o.By && c.At.Equal(o.At) }

// Expires returns when every publisher may take over the claim, whoever holds the Lease,
// unless its holder has been at it since. One that has seen the claim for ClaimExpiry may
// do so before.
func (c Claim) Expires() time.Time { return c.At.Add(maxSkew + ClaimExpiry) }

// Attempt is an attempt to send an event that may or may not have arrived: the
// receiver may have accepted it, but its response was lost. It is zero after an event
// that was sent.
type Attempt struct {
	ID    string    // of the message, the same in every attempt
	Count int       // the attempts so far whose response was lost
	At    time.Time // of the last one, or of the claim of a publisher that was killed
}

// wait returns how long to wait after so many attempts. Each one may have arrived, so
// each further one may be a copy: the wait grows, but never ends.
func (a Attempt) wait() time.Duration {
	switch a.Count {
	case 0:
		return 0
	case 1:
		return 10 * time.Minute
	case 2:
		return time.Hour
	}
	return 6 * time.Hour
}

// DeliveryState returns the state of a notification.
func (n Notification) DeliveryState() DeliveryState {
	switch {
	case n.Claim.By != "":
		return DeliveryClaimed
	case n.Error != "" && !n.Claim.At.IsZero():
		return DeliveryRejected
	case n.Attempt.Count > 0:
		return DeliveryUnconfirmed
	case n.Pending != "":
		return DeliveryPending
	}
	return DeliveryIdle
}

// NextTry returns when the pending event may be sent, and the reason to wait until
// then; the zero time if nothing holds it up.
func (n Notification) NextTry(now time.Time) (at time.Time, why DeliveryState) {
	if n.Error != "" && !n.Claim.At.IsZero() && n.Claim.By == "" {
		if at := n.Claim.At.Add(RefusedRetry); at.After(now) {
			return at, DeliveryRejected
		}
	}
	if n.Attempt.Count > 0 {
		if at := n.Attempt.At.Add(n.Attempt.wait()); at.After(now) {
			return at, DeliveryUnconfirmed
		}
	}
	return time.Time{}, ""
}

// DampedUntil returns when a pending event of a notification may be sent, so that a
// finding that keeps changing does not make a message of each change: the zero time if
// that is no reason to wait. What is sent then is how it is then.
//
// A finding that returns for the second time says so, and then its ends and returns wait
// until it has been the same for a while, or an hour has passed since the last message. A
// change after a change or a return waits for that hour, and so do the returns of an
// owner who left, and what follows them.
func (r *Record) DampedUntil(n *Notification, now time.Time) time.Time {
	hour := n.At.Add(dampFor)
	if n.At.IsZero() || !now.Before(hour) || n.Claim.By != "" {
		return time.Time{}
	}
	switch {
	case n.Pending == EventChanged && (n.Last == EventChanged || n.Last == EventReopened),
		n.Pending == EventReopened && n.Last == EventReleased,
		n.Pending == EventReleased && n.Last == EventReopened:
		return hour
	case n.Pending != EventResolved && n.Pending != EventReopened, n.Last == "", !r.ComesAndGoes():
		return time.Time{}
	case r.Reopened == dampFrom && n.Pending == EventReopened && n.Last == EventResolved:
		return time.Time{} // this one says so
	}
	quiet := r.OpenedAt.Add(dampQuiet)
	if r.State == StateResolved {
		quiet = r.ResolvedAt.Add(dampQuiet)
	}
	switch {
	case !quiet.After(now):
		return time.Time{}
	case quiet.Before(hour):
		return quiet
	}
	return hour
}

// ComesAndGoes reports whether a finding has returned so often that its ends and returns
// are damped.
func (r *Record) ComesAndGoes() bool { return r.Reopened >= dampFrom }

// MayClaim reports whether a publisher may claim a notification, which it has seen
// claimed as it is for the given time. The holder of the Lease may take over the claim
// of a previous holder. Without the Lease, claims expire: by the clock of the process
// that has seen them unchanged, or by their stored time if no difference between clocks
// can explain it.
func (n Notification) MayClaim(c Claim, seen time.Duration) bool {
	held := n.Claim
	switch {
	case held.By == "", held.By == c.By, held.WithLease && c.WithLease, seen >= ClaimExpiry:
		return true
	}
	return c.At.Sub(held.At).Abs() >= maxSkew+ClaimExpiry
}

// Take claims a notification for an event that is pending, or for a reminder while
// nothing is pending. It returns false, and changes nothing, if it may not.
func (n *Notification) Take(event Event, c Claim, seen time.Duration, now time.Time) bool {
	due := n.Pending
	if event == EventReminder && due == "" && n.Notified() {
		due = EventReminder
	}
	if due != event || !n.MayClaim(c, seen) {
		return false
	}
	if at, _ := n.NextTry(now); !at.IsZero() {
		return false
	}
	// The previous claimant may have sent it before it was killed. That is no reason to
	// wait, but the owner may know of the finding.
	if n.Claim.By != "" && n.Claim.By != c.By && n.Attempt.At.IsZero() {
		n.Attempt.At = n.Claim.At
	}
	n.Claim = c
	return true
}

// Sent records that the receiver has accepted an event, and which event is pending
// after it. An event that became pending in the meantime stays pending. With a next
// event the claim is kept. refused says why the owner's own channel did not get it.
func (n *Notification) Sent(event, next Event, c Claim, now time.Time, refused string) bool {
	if !n.Claim.Is(c) {
		return false
	}
	n.At, n.Error = now, refused
	if event != EventReminder && event != EventDetails {
		n.Last = event
	}
	if n.Pending == event {
		n.Pending = next
	}
	n.Attempt = Attempt{}
	if next == "" {
		n.Claim = Claim{}
	}
	return true
}

// Unconfirmed records that an event was sent in a message and may have arrived, and why
// that is unknown. A reminder counts as sent: another one follows anyway.
func (n *Notification) Unconfirmed(event Event, message, why string, c Claim, now time.Time) bool {
	if !n.Claim.Is(c) {
		return false
	}
	n.Claim = Claim{}
	switch {
	case event == EventReminder:
		n.At = now
	case n.Pending == event:
		n.Attempt, n.Error = Attempt{ID: message, Count: n.Attempt.Count + 1, At: now}, why
	default: // something else is pending by now, and does not wait
		n.Attempt.At = now
	}
	return true
}

// Refused records that the receiver has refused an event, and why.
func (n *Notification) Refused(why string, c Claim, now time.Time) bool {
	if !n.Claim.Is(c) {
		return false
	}
	n.Claim, n.Error = Claim{At: now}, why
	return true
}

// Retry lets what was refused be sent at once: its channel accepts messages by now, or
// someone has asked for it.
func (n *Notification) Retry() {
	if n.DeliveryState() == DeliveryRejected {
		n.Claim = Claim{}
	}
}

// Release gives up a claim on an event that was not sent.
func (n *Notification) Release(c Claim) bool {
	if !n.Claim.Is(c) {
		return false
	}
	n.Claim = Claim{}
	if n.Pending == EventReleased && !n.Notified() && n.Attempt.At.IsZero() {
		n.Pending = "" // this claim was the only sign that the owner might know of it
	}
	return true
}

// Forget records a pending event as done without sending it.
func (n *Notification) Forget(event Event, c Claim, seen time.Duration) bool {
	if n.Pending != event || !n.MayClaim(c, seen) {
		return false
	}
	n.Last, n.Pending, n.Claim, n.Attempt = event, "", Claim{}, Attempt{}
	return true
}

// setPending makes an event pending, or none. What was attempted before was another
// event, so the new one does not wait; a claim is left to the publisher that holds it.
func (n *Notification) setPending(event Event) {
	if n.Pending == event {
		return
	}
	if n.Attempt.Count > 0 {
		n.Error = ""
	}
	n.Pending, n.Attempt = event, Attempt{At: n.Attempt.At}
}

// mayBeNotified reports whether the owner may know of the finding: they were notified,
// or an attempt to do so has an unknown outcome. While a publisher is sending, the
// outcome will be known.
func (n Notification) mayBeNotified(now time.Time) bool {
	if n.Notified() || n.Pending == EventReleased || !n.Attempt.At.IsZero() {
		return true
	}
	return n.Claim.By != "" && now.Sub(n.Claim.At).Abs() >= maxSkew+ClaimExpiry
}
