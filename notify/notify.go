// Package notify tells owners of findings: it makes digests of what is stored to
// be told, sends them by whatever sender the config names, and stores what was
// told. Senders and the writers of reports and metrics are folders of it.
package notify

import (
	"context"
	"errors"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// Sender tells recipients by one kind of channel.
type Sender interface {
	// Name is the name under which it is stored what was told: slack, webhook.
	Name() string
	// Plan makes the messages of a digest, in the order in which they are to be
	// sent. It is pure. Every item of the digest is covered by one message.
	Plan(Digest) []Message
	// Send sends one message of a plan, beneath another one unless that is zero,
	// and returns where it is then. It waits where the receiver asks for patience
	// and tries again what may pass, within the time of the context. An error
	// that wraps ErrRefused will not pass; any other one may, with the next sweep.
	// No error holds a secret.
	Send(ctx context.Context, to Recipient, m Message, beneath audit.MessageRef) (audit.MessageRef, error)
}

// Recipient is whom a digest goes to.
type Recipient struct {
	Owner string // the owner's name, or that of the fallback owner
	// Address is where the sender finds them: the ID or name of a Slack channel,
	// the file with the URL of an incoming webhook. A sender that has but one
	// receiver needs none.
	Address string
	Mention string // in Slack's notation, from the config alone
}

// Digest is all that one recipient is to be told after one sweep.
type Digest struct {
	Cluster   string
	Namespace string // the namespace that findings are kept in
	To        Recipient
	// Instead says why it goes to the fallback owner: the name of whom it was for,
	// and why they cannot be reached. Empty otherwise.
	FallbackReason string
	Items          []Item // by severity (highest first), rule, subject, event
	// Open counts the findings that are open and the recipient's, those in Items
	// too.
	Open int
	// Earlier are all the findings, by the place at which their opening was told,
	// of the places that are in Items, each finding once: what has to be known to bring such a
	// message up to date. They are sorted as Items.
	Earlier map[audit.MessageRef][]Item
	Now     time.Time
}

// Item is what is told of one finding. No two of a digest have the same finding
// and event.
type Item struct {
	Record audit.Record
	// Owners are those who are told by it, sorted: one, unless several are
	// reached by way of the fallback owner. The others who own the finding too
	// are in the record.
	Owners []string
	Event  audit.Event
	// Last is what they were told before; empty: nothing.
	Last audit.Event
	// ToldAt is when they were told anything of it last, zero for never: of several
	// owners, when that is longest ago. It stays what it is until this is told, and
	// so tells a repeat from what is told again.
	NotifiedAt time.Time
	// Place is the message that told of the opening, zero where none did.
	Message audit.MessageRef

	refused string // why it goes to the fallback owner
}

// Message is one message of a plan.
type Message struct {
	Covers []Covered // what is told once this is sent; none for a mere update
	// Beneath is the index in the plan of the message in whose thread this goes,
	// or NotBeneath: then Thread is the message, and zero for one of its own.
	Parent int
	Thread audit.MessageRef
	// Opens is true of a message beneath which all else of what it covers goes.
	StartsThread bool
	// Minor is true of a message without which nothing is lost: it covers nothing,
	// is sent after the others, and a failure is not one of the delivery.
	Optional bool
	Body     any // the sender's own
	// Text is the message as people read it, for those who look before it is sent.
	Text string
}

// NotBeneath is Message.Beneath of a message that needs no other of its plan.
const NoParent = -1

// Covered is an item that a message tells of.
type Covered struct {
	ID    string // of the finding
	Event audit.Event
	// Next is what is to be told after that, such as details; empty: nothing.
	Next audit.Event
}

// ErrRefused is wrapped by the errors of messages that the receiver will not take,
// however often they are sent: the config or the receiver must change.
var ErrRefused = errors.New("it was refused")

// Refused returns an error that wraps ErrRefused, in the receiver's words alone.
func Refused(reason string) error { return refusal(reason) }

type refusal string

func (r refusal) Error() string { return string(r) }

func (r refusal) Unwrap() error { return ErrRefused }
