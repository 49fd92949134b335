package slack

import (
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

// reminder lists what is still open, in a reply to the latest message that announced any
// of it. If one has severity high, the reply is shown in the channel too, with the
// mention from the config.
func (p *planner) reminder(items []notify.Item) {
	if len(items) == 0 {
		return
	}
	high := slices.ContainsFunc(items, func(i notify.Item) bool { return i.Record.Severity == rules.High })
	title := rules.Count(len(items), "finding") + " still open"
	l := p.begin(title, bySeverity(items), high)
	for _, i := range items {
		l.cover(i, "")
	}
	entries := p.entries(items)
	for n := range entries {
		if age := p.Now.Sub(openedFirst(entries[n].items)); age > 0 && age < maxAge {
			entries[n].line = append(entries[n].line, words(", open for "+rules.Age(age)))
		}
	}
	p.list(l, "", entries, maxLines, p.listCommand())
	p.footer(l)
	m := p.replyTo(p.latest(items))
	p.add(l, m, body{text: p.summary(title, items), broadcast: high && m.Thread != (audit.MessageRef{})})
}

// maxAge is longer than any finding is open: the age of one that was never opened.
const maxAge = 100 * 365 * 24 * time.Hour

// openedFirst returns when the first of some findings was opened.
func openedFirst(items []notify.Item) time.Time {
	first := items[0].Record.OpenedAt
	for _, i := range items[1:] {
		if i.Record.OpenedAt.Before(first) {
			first = i.Record.OpenedAt
		}
	}
	return first
}

// latest returns the last of the messages that announced some findings, or zero.
func (p *planner) latest(items []notify.Item) audit.MessageRef {
	var last audit.MessageRef
	for _, i := range items {
		if p.canReply(i.Message) && newer(i.Message.Message, last.Message) {
			last = i.Message
		}
	}
	return last
}

// newer compares the IDs of messages, which are timestamps: seconds, a dot and six digits.
func newer(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }
