package slack

import (
	"slices"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

// reminder lists what is still open, beneath the message that told of the latest
// of it. Where one is high it is shown in the channel too, and calls those whom
// the config names.
func (p *planner) reminder(items []notify.Item) {
	if len(items) == 0 {
		return
	}
	high := slices.ContainsFunc(items, func(i notify.Item) bool { return i.Record.Severity == rules.High })
	title := count(len(items), "finding") + " still open"
	pg := &page{}
	pg.add(header(title + p.on()))
	counts := bySeverity(items)
	if high && p.To.Mention != "" {
		counts = p.To.Mention + " " + counts
	}
	pg.add(markup(counts))
	if p.FallbackReason != "" {
		pg.add(p.instead())
	}
	for _, i := range items {
		pg.cover(i, "")
	}
	shown := fill(head(items, maxLines), func(i notify.Item) bool {
		l := summary(i)
		if age := p.Now.Sub(i.Record.OpenedAt); !i.Record.OpenedAt.IsZero() && age > 0 {
			l = append(l, words(" Open for "+rules.Age(age)+"."))
		}
		return pg.addLine("", l)
	})
	p.more(pg, len(items)-shown, inCluster)
	p.footer(pg)
	m := p.thread(p.latest(items))
	p.add(pg, m, body{text: p.fallback(title, items), broadcast: high && m.Thread != (audit.MessageRef{})})
}

// latest returns the last of the messages that told of some findings, as Slack
// counts messages up, or none.
func (p *planner) latest(items []notify.Item) audit.MessageRef {
	var last audit.MessageRef
	for _, i := range items {
		if p.here(i.Message) && newer(i.Message.Message, last.Message) {
			last = i.Message
		}
	}
	return last
}

// newer compares the names of messages, which are times of one form: seconds, a
// dot, and six digits.
func newer(a, b string) bool { return len(a) > len(b) || len(a) == len(b) && a > b }
