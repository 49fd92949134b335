package slack

import (
	"strconv"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// changes tells what became of findings: beneath the message that told of them, or
// in one of its own where there is none.
func (p *planner) changes(items []notify.Item, at audit.MessageRef) {
	if len(items) == 0 {
		return
	}
	title := changeTitle(items)
	begin := func() *page {
		pg := &page{}
		if !p.here(at) {
			pg.add(header(title + p.on()))
			if p.FallbackReason != "" {
				pg.add(p.instead())
			}
		}
		return pg
	}
	pg := begin()
	flush := func() {
		p.footer(pg)
		p.add(pg, p.thread(at), body{text: p.fallback(title, items)})
		pg = begin()
	}
	for _, i := range items {
		if !p.change(pg, i) {
			flush()
			p.change(pg, i) // every one fits an empty page
		}
		pg.cover(i, "")
	}
	flush()
}

// change adds what became of one finding to a page, if it fits.
func (p *planner) change(pg *page, i notify.Item) bool {
	rec := &i.Record
	switch i.Event {
	case audit.EventResolved:
		l, heading := marked(emojiMended, subject(rec)), "Resolved"
		if rec.Reason != audit.ReasonResolved {
			l, heading = append(marked(emojiClosed, subject(rec)), words(" "+closing(rec.Reason))), "Closed, not mended"
		}
		if age := lasted(rec); age != "" {
			l = append(l, words(", was open for "+age))
		}
		if i.Last == "" {
			l = append(l, words(", before you could be told of it"))
		}
		return pg.addLine(heading, l)
	case audit.EventReleased:
		l := marked(emojiGiven, subject(rec))
		if len(rec.Owners) > 0 {
			l = append(l, words(" is now with "), prose(strings.Join(rec.Owners, ", "), maxLine))
		}
		return pg.addLine("Still there, and not yours any more", l)
	default:
		return pg.add(paragraphs(line{strong("Changed")}), details(i, &p.Digest))
	}
}

// closing says why a finding was closed that nobody mended.
func closing(r audit.Reason) string {
	switch r {
	case audit.ReasonRuleRetired:
		return "is not asked for any more"
	case audit.ReasonExcepted:
		return "is hidden by an exception"
	}
	return "is closed"
}

// changeTitle counts what became of findings: "2 findings resolved", or "3
// findings: 1 changed, 2 resolved".
func changeTitle(items []notify.Item) string {
	n := map[string]int{}
	for _, i := range items {
		n[became(i)]++
	}
	var parts []string
	for _, word := range []string{"changed", "resolved", "closed", "no longer yours"} {
		switch n[word] {
		case 0:
		case len(items):
			return count(len(items), "finding") + " " + word
		default:
			parts = append(parts, strconv.Itoa(n[word])+" "+word)
		}
	}
	return count(len(items), "finding") + ": " + strings.Join(parts, ", ")
}

func became(i notify.Item) string {
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
