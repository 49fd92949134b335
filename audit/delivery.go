package audit

import (
	"cmp"
	"slices"
	"strings"
)

// Delivery is what became of one digest.
type Delivery struct {
	Sender string // the name of what sends, such as slack
	Owner  string // whom it is for
	Result DeliveryResult
	// Reason says why it was not sent. It holds no secret.
	Reason string
}

// DeliveryResult says whether a message arrived.
type DeliveryResult string

// The results of a delivery.
const (
	DeliverySent    DeliveryResult = "sent"
	DeliveryFailed  DeliveryResult = "failed"  // for now: the next sweep tries again
	DeliveryRefused DeliveryResult = "refused" // for good: the config, or the receiver, must change
	DeliveryHeld    DeliveryResult = "held"    // until the owner's quiet hours are over
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
	Address string // where the sender would find them; empty where it needs none
	Held    bool   // until quiet hours are over
	Text    string // as its reader would see it
}
