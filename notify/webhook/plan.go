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

// maxItems and maxBody are how much one message holds. A body of which a single
// item is longer holds just that.
const (
	maxItems = 500
	maxBody  = 1_000_000
)

// payload is the body of a message, ready to be signed. One that could not be
// encoded has an error instead.
type payload struct {
	json []byte
	key  string
	err  error
}

// Plan makes one message of a digest, or several where it is long, each of which is
// complete in itself.
func (s *Sender) Plan(d notify.Digest) []notify.Message {
	var out []notify.Message
	for items := d.Items; len(items) > 0; {
		n := fitting(d, items)
		out = append(out, message(d, items[:n]))
		items = items[n:]
	}
	return out
}

// fitting returns how many of the items go into one message: one at least.
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
	// What others were told of it, and where, is not for this receiver, and changes
	// from one try to the next.
	rec := it.Record
	rec.Notifications = nil
	out := Item{
		Event: string(it.Event), To: append([]string{}, it.Owners...), LastEvent: string(it.Last),
		// To the second, as it is stored: a repeat may come from whoever loads it.
		LastNotifiedAt: it.NotifiedAt.UTC().Truncate(time.Second), Finding: report.FromRecord(rec),
	}
	slices.Sort(out.To)
	// What tells one telling from the next, and none of the words it is told in. The
	// parts are quoted, so that no two lists of them look the same.
	out.Key = hash(fmt.Appendf(nil, "%q %q %q %q %q %d %d %d", d.Cluster, d.To.Owner, out.To,
		it.Record.ID, it.Event, out.LastNotifiedAt.Unix(), out.Finding.OpenedAt.Unix(), it.Record.Reopened))
	return out
}

// encode returns a document in one line, which looks the same wherever it is shown:
// what a reader could not see is escaped.
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
