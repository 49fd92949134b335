package slack

import (
	"slices"
	"strconv"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

// changes says how findings have changed: in a reply to the message that announced
// them, or in a message of its own if there is none.
func (p *planner) changes(items []notify.Item, at audit.MessageRef) {
	if len(items) == 0 {
		return
	}
	title := changesTitle(items)
	begin := func() *layout {
		l := &layout{}
		if !p.canReply(at) {
			l.add(header(title + p.onCluster()))
			p.explainFallback(l)
		}
		return l
	}
	l := begin()
	flush := func() {
		p.footer(l)
		p.add(l, p.replyTo(at), body{text: p.summary(title, items)})
		l = begin()
	}
	for _, i := range items {
		if !p.change(l, i) {
			flush()
			p.change(l, i) // any change fits an empty message
		}
		l.cover(i, "")
	}
	flush()
}

// change adds how one finding has changed, if it fits.
func (p *planner) change(l *layout, i notify.Item) bool {
	rec := &i.Record
	switch i.Event {
	case audit.EventResolved:
		text, heading := marked(emojiResolved, subject(rec)), "Resolved"
		if rec.Reason != audit.ReasonResolved {
			text, heading = append(marked(emojiClosed, subject(rec)), words(": "+closeReason(rec.Reason))), "Closed, not fixed"
		}
		if age := openFor(rec); age != "" {
			text = append(text, words(", was open for "+age))
		}
		if i.Last == "" {
			text = append(text, words("; it ended before you could be notified"))
		}
		return l.addLine(heading, text)
	case audit.EventReleased:
		text := marked(emojiReleased, subject(rec))
		if len(rec.Owners) > 0 {
			text = append(text, words(" is now owned by "), prose(strings.Join(rec.Owners, ", "), maxLine))
		}
		return l.addLine("Still open, but no longer yours", text)
	default:
		block, _ := p.detailsOf(i, "")
		return l.add(paragraphs(line{bold("Changed")}), block)
	}
}

func closeReason(r audit.Reason) string {
	switch r {
	case audit.ReasonRuleRetired:
		return "the rule is no longer in use"
	case audit.ReasonExcepted:
		return "covered by an exception"
	}
	return "closed"
}

// changesTitle counts how findings have changed: "2 findings resolved", or "3 findings:
// 1 changed, 2 resolved".
func changesTitle(items []notify.Item) string {
	n := map[string]int{}
	for _, i := range items {
		n[changeWord(i)]++
	}
	var parts []string
	for _, word := range []string{"changed", "resolved", "closed", "no longer yours"} {
		switch n[word] {
		case 0:
		case len(items):
			return rules.Count(len(items), "finding") + " " + word
		default:
			parts = append(parts, strconv.Itoa(n[word])+" "+word)
		}
	}
	return rules.Count(len(items), "finding") + ": " + strings.Join(parts, ", ")
}

func changeWord(i notify.Item) string {
	switch {
	case i.Event == audit.EventResolved && i.Record.Reason == audit.ReasonResolved:
		return "resolved"
	case i.Event == audit.EventResolved:
		return "closed"
	case i.Event == audit.EventReleased:
		return "no longer yours"
	}
	return "changed"
}

// update updates the message that announced findings: it strikes through those that
// need no more action. The message is optional.
func (p *planner) update(at audit.MessageRef) {
	all := slices.Clone(p.Earlier[at])
	if len(all) == 0 {
		return
	}
	var open []notify.Item
	storm := true
	for n := range all {
		i := &all[n]
		i.Owners = notifiedBy(at, &i.Record)
		if !done(*i) {
			open = append(open, *i)
		}
		storm = storm && i.Record.Storm
	}
	title := rules.Count(len(all), "finding")
	status := "Nothing here needs your action anymore."
	if len(open) > 0 {
		status = "Still open: " + bySeverity(open)
	}
	l := &layout{}
	l.add(header(title + p.onCluster()))
	l.add(markup(status))
	most := maxLines
	if storm {
		p.byRule(l, all)
		most = maxStormLines
	}
	settled := slices.DeleteFunc(slices.Clone(all), func(i notify.Item) bool { return !done(i) })
	// The space is for open findings.
	p.list(l, "", slices.Concat(p.entries(open), p.settled(settled)), most, p.listCommand())
	m := topLevel()
	m.Optional = true
	p.add(l, m, body{update: at, text: p.summary(title, all)})
}

// notifiedBy returns the owners whom a message notified of a finding.
func notifiedBy(at audit.MessageRef, r *audit.Record) []string {
	var out []string
	for _, n := range r.Notifications {
		if n.Message == at {
			out = append(out, n.Owner)
		}
	}
	return out
}
