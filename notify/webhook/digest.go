package webhook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/report"
)

// Kind is the kind of the document that is sent. Its API version is the report's.
const Kind = "Digest"

// Digest is what a receiver reads: what one owner is notified of. It follows the
// conventions of the report: lists are never null, empty strings and unknown times are
// omitted, and times are in UTC. Fields may be added.
//
// It does not contain the time of sending, so a digest that is sent again is the same to
// the byte. digest.schema.json describes it.
type Digest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Cluster    string `json:"cluster,omitempty"` // its name in the config
	Owner      string `json:"owner"`             // the owner, or the fallback owner
	// FallbackReason names the original owner, and says why they cannot be reached, in a
	// digest for the fallback owner.
	FallbackReason string `json:"fallbackReason,omitempty"`
	Open           int    `json:"open"`  // number of open findings of the owner, including those in other digests
	Items          []Item `json:"items"` // by severity (highest first), rule, subject, event
}

// Item is one event of one finding.
type Item struct {
	// Key is the same in every digest that repeats the item: it is unknown whether an
	// earlier one arrived.
	Key   string   `json:"key"`
	Event string   `json:"event"` // opened, reopened, changed, details, resolved, released or reminder
	To    []string `json:"to"`    // the owners that the item notifies; finding.owners has all of them
	// LastEvent is the last event that they were notified of, and LastNotifiedAt is when
	// they were last notified of the finding; omitted if never.
	LastEvent      string               `json:"lastEvent,omitempty"`
	LastNotifiedAt time.Time            `json:"lastNotifiedAt,omitzero"`
	Finding        report.StoredFinding `json:"finding"`
}

// The most that one message contains. A single item may exceed maxBody.
const (
	maxItems = 500
	maxBody  = 1_000_000
)

// payload is the body of a message, ready to be signed, or the error of encoding it.
type payload struct {
	json []byte
	key  string
	err  error
}

// plan returns the messages of a digest, each complete in itself.
func plan(d notify.Digest) []notify.Message {
	var out []notify.Message
	for items := d.Items; len(items) > 0; {
		n := fitting(d, items)
		out = append(out, message(d, items[:n]))
		items = items[n:]
	}
	return out
}

// fitting returns how many of the items fit one message: at least one.
func fitting(d notify.Digest, items []notify.Item) int {
	size := len(encode(digest(d, nil)).json)
	for i, it := range items {
		size += len(encode(item(d, it)).json) + len(",")
		if i > 0 && (i == maxItems || size > maxBody) {
			return i
		}
	}
	return len(items)
}

func message(d notify.Digest, items []notify.Item) notify.Message {
	p := encode(digest(d, items))
	m := notify.Message{Parent: notify.NoParent, Body: p}
	for _, it := range items {
		m.Covers = append(m.Covers, notify.Covered{ID: it.Record.ID, Event: it.Event})
	}
	var text bytes.Buffer
	if p.err == nil && json.Indent(&text, p.json, "", "  ") == nil {
		m.Text = text.String()
	}
	return m
}

func digest(d notify.Digest, items []notify.Item) Digest {
	out := Digest{
		APIVersion: report.APIVersion, Kind: Kind, Cluster: d.Cluster, Owner: d.To.Owner, FallbackReason: d.FallbackReason,
		Open: d.Open, Items: make([]Item, 0, len(items)),
	}
	for _, it := range items {
		out.Items = append(out.Items, item(d, it))
	}
	return out
}

func item(d notify.Digest, it notify.Item) Item {
	// The notifications of other owners do not concern this receiver, and change from one
	// try to the next.
	rec := it.Record
	rec.Notifications = nil
	out := Item{
		Event: string(it.Event), To: append([]string{}, it.Owners...), LastEvent: string(it.Last),
		// In seconds, as it is stored: another process may repeat the item after loading it.
		LastNotifiedAt: it.NotifiedAt.UTC().Truncate(time.Second), Finding: report.FromRecord(rec),
	}
	slices.Sort(out.To)
	// What distinguishes one notification from the next, without its text. The parts are
	// quoted, so that no two lists of them look the same.
	out.Key = hash(fmt.Appendf(nil, "%q %q %q %q %q %d %d %d", d.Cluster, d.To.Owner, out.To,
		it.Record.ID, it.Event, out.LastNotifiedAt.Unix(), out.Finding.OpenedAt.Unix(), it.Record.Reopened))
	return out
}

// encode returns a document on one line. Invisible characters are escaped, so that it
// looks the same everywhere.
func encode(document any) payload {
	indented, err := report.EncodeJSON(document)
	if err != nil {
		return payload{err: err}
	}
	var out bytes.Buffer
	if err := json.Compact(&out, indented); err != nil {
		return payload{err: err}
	}
	return payload{json: out.Bytes(), key: hash(out.Bytes())}
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
