package slack

import (
	"slices"

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
	shown := fill(first(items, maxLines), func(i notify.Item) bool {
		text := listed(i)
		if age := p.Now.Sub(i.Record.OpenedAt); !i.Record.OpenedAt.IsZero() && age > 0 {
			text = append(text, words(" Open for "+rules.Age(age)+"."))
		}
		return l.addLine("", text)
	})
	p.addMore(l, len(items)-shown, p.listCommand())
	p.footer(l)
	m := p.replyTo(p.latest(items))
	p.add(l, m, body{text: p.summary(title, items), broadcast: high && m.Thread != (audit.MessageRef{})})
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
