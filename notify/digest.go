// Package notify notifies owners of findings. It makes a digest for each recipient
// from the notifications that are pending in the store, sends it with the senders
// that the config names, and records what was sent. Each sender, and each writer of
// reports and metrics, is a package below this one.
package notify

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// The names of the senders, as notifications are stored under them.
const (
	SlackName        = "slack"         // with a bot token
	SlackWebhookName = "slack-webhook" // with an incoming webhook, without threads
	WebhookName      = "webhook"       // JSON, for anything else
)

// Sender notifies recipients over one kind of channel.
type Sender interface {
	// Name returns the name that notifications are stored under.
	Name() string
	// Plan returns the messages of a digest in the order in which to send them. It
	// is pure. Exactly one message covers each item of the digest.
	Plan(Digest) []Message
	// Send sends one message of a plan, as a reply to thread unless that is zero,
	// and returns where the message is. It waits as long as the receiver asks for and
	// retries transient failures, within the deadline of the context. Once the context
	// has ended it starts no request, but lets one that is under way finish within
	// Grace. An error that wraps ErrRefused is permanent. One that wraps ErrUnconfirmed
	// says that the message may have arrived; it was not sent again. After any other
	// error it has not arrived, and the next sweep may succeed. No error contains a
	// secret.
	Send(ctx context.Context, to Recipient, m Message, thread audit.MessageRef) (audit.MessageRef, error)
}

// Recipient is who a digest goes to.
type Recipient struct {
	Owner string // the owner's name, or that of the fallback owner
	// Address is where the sender finds them: the ID or name of a Slack channel, or
	// the file that holds the URL of an incoming webhook. A sender with a single
	// receiver needs no address.
	Address string
	Mention string // in Slack's notation, from the config only
}

// Digest is everything that one recipient is notified of after one sweep.
type Digest struct {
	Cluster   string
	Namespace string // that findings are stored in
	To        Recipient
	// FallbackReason says why the digest goes to the fallback owner: the name of the
	// original owner and why they cannot be reached. Empty otherwise.
	FallbackReason string
	Items          []Item // by severity (highest first), rule, subject, event
	Open           int    // the number of open findings of the recipient, including those in Items
	// Earlier are all findings announced by each message that Items refer to, each
	// finding once, sorted as Items: a sender needs them to update such a message.
	Earlier map[audit.MessageRef][]Item
	Now     time.Time
	Guide   Guide
}

// Guide helps the readers of messages to act. The zero value does not.
type Guide struct {
	// Channel returns the ID of an owner's Slack channel, or "".
	Channel func(owner string) string
	// Finding and Rule return the URL of a page about a finding and about its rule, or "".
	Finding, Rule func(*audit.Record) string
	// Fix returns what would end the finding with an ID, as YAML with comments, or "".
	Fix func(id string) string
}

// ChannelOf returns the ID of an owner's Slack channel, or "".
func (g *Guide) ChannelOf(owner string) string {
	if g.Channel == nil {
		return ""
	}
	return g.Channel(owner)
}

// Links returns the pages about a finding and about its rule, each "" if there is none.
func (g *Guide) Links(r *audit.Record) (finding, rule string) {
	if g.Finding != nil {
		finding = g.Finding(r)
	}
	if g.Rule != nil {
		rule = g.Rule(r)
	}
	return finding, rule
}

// FixFor returns what would end a finding, or "".
func (g *Guide) FixFor(id string) string {
	if g.Fix == nil {
		return ""
	}
	return g.Fix(id)
}

// Item is one event of one finding. No two items of a digest have the same finding
// and event.
type Item struct {
	Record audit.Record
	// Owners are the owners that the item notifies, sorted: one, unless several are
	// reached through the fallback owner. The record has the other owners.
	Owners []string
	Event  audit.Event
	Last   audit.Event // what they were notified of before; empty: nothing
	// NotifiedAt is when they were last notified of the finding, zero for never; with
	// several owners, the earliest. It is the same in every retry of one item.
	NotifiedAt time.Time
	Message    audit.MessageRef // that announced the finding, zero if none did

	claim   audit.Claim   // of this publisher
	attempt audit.Attempt // the last one, if its outcome is unknown
	refused string        // why it goes to the fallback owner
	retry   bool          // it was refused, and is tried at once
}

// ComesAndGoes reports whether the message about an item must say that further changes
// are damped.
func (it *Item) ComesAndGoes() bool {
	return it.Event == audit.EventReopened && it.Record.ComesAndGoes()
}

func sortItems(items []Item) {
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Record.Severity, a.Record.Severity), strings.Compare(a.Record.Rule, b.Record.Rule),
			a.Record.Subject.Compare(b.Record.Subject), strings.Compare(string(a.Event), string(b.Event)))
	})
}

// Message is one message of a plan.
type Message struct {
	Covers []Covered // the items that are done once the message is sent; none for an update
	// Parent is the index in the plan of the message that this one replies to, or
	// NoParent. With NoParent, the message replies to Thread unless that is zero.
	Parent int
	Thread audit.MessageRef
	// StartsThread is true if later messages about the covered findings are replies to
	// this one.
	StartsThread bool
	// Optional messages cover nothing. They are sent after all others, and a failure
	// does not fail the delivery.
	Optional bool
	// Key identifies the message to a receiver that recognizes a message that is sent
	// again: it is the same in every attempt. The Deliverer sets it.
	Key  string
	Body any    // the sender's own
	Text string // the message as people read it, for a preview
}

// NoParent is the Message.Parent of a message that does not reply to another one of
// its plan.
const NoParent = -1

// Covered is an item that a message covers.
type Covered struct {
	ID    string // of the finding
	Event audit.Event
	// Next is the event that becomes pending after it, such as details; empty: none.
	Next audit.Event
}

// ErrRefused is wrapped by the errors of messages that the receiver will never accept:
// the config or the receiver must change first.
var ErrRefused = errors.New("it was refused")

// ErrUnconfirmed is wrapped by the errors of messages that may have arrived, because the
// response was lost.
var ErrUnconfirmed = errors.New("it may have arrived")

// Refused returns an error that wraps ErrRefused and whose text is the reason only.
func Refused(reason string) error { return refusal(reason) }

type refusal string

func (r refusal) Error() string { return string(r) }

func (r refusal) Unwrap() error { return ErrRefused }
