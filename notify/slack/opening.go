package slack

import (
	"maps"
	"slices"
	"strconv"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

// opening announces findings that were opened: a line for each, and the details of each
// in the thread. Without threads, the message has the details.
func (p *planner) opening(items []notify.Item) {
	if len(items) == 0 {
		return
	}
	l := p.begin(openingTitle(items), bySeverity(items), true)
	for _, i := range items {
		if p.threads {
			l.cover(i, audit.EventDetails)
		} else {
			l.cover(i, "")
		}
	}
	if p.threads {
		p.list(l, "", p.entries(items), maxLines, seeThread)
	} else {
		fix := ""
		shown := fill(inTurns(items, func(i notify.Item) string { return i.Record.Culprit }), func(i notify.Item) bool {
			block, next := p.detailsOf(i, fix)
			fix = next
			return l.add(block)
		})
		p.addMore(l, len(items)-shown, p.listCommand())
	}
	p.footer(l)
	m := topLevel()
	m.StartsThread = p.threads
	parent := p.add(l, m, body{text: p.summary(openingTitle(items), items)})
	if p.threads {
		p.details(items, notify.Message{Parent: parent})
	}
}

// details shows all details of findings, in as many messages as it takes.
func (p *planner) details(items []notify.Item, m notify.Message) {
	l, fix := &layout{}, ""
	flush := func() {
		if len(l.covers) > 0 {
			p.add(l, m, body{text: "Details of " + rules.Count(len(l.covers), "finding")})
		}
		l = &layout{}
	}
	for _, i := range items {
		i.Event = audit.EventDetails
		block, next := p.detailsOf(i, fix)
		fix = next
		fits := len(l.blocks) == 0 && l.add(block) || l.add(slack.NewDividerBlock(), block)
		if !fits {
			flush()
			block, fix = p.detailsOf(i, "")
			l.add(block)
		}
		l.cover(i, "")
	}
	flush()
}

// remainingDetails shows the details that an earlier sweep could not send.
func (p *planner) remainingDetails(items []notify.Item) {
	var order []audit.MessageRef
	byMessage := map[audit.MessageRef][]notify.Item{}
	for _, i := range items {
		at := i.Message
		if !p.canReply(at) {
			at = audit.MessageRef{}
		}
		if byMessage[at] == nil {
			order = append(order, at)
		}
		byMessage[at] = append(byMessage[at], i)
	}
	for _, at := range order {
		p.details(byMessage[at], p.replyTo(at))
	}
}

// openingTitle counts new and reopened findings.
func openingTitle(items []notify.Item) string {
	reopened := 0
	for _, i := range items {
		if i.Event == audit.EventReopened {
			reopened++
		}
	}
	switch fresh := len(items) - reopened; {
	case reopened == 0:
		return rules.Count(fresh, "new finding")
	case fresh == 0:
		return rules.Count(reopened, "finding") + " reopened"
	default:
		return rules.Count(fresh, "new finding") + " and " + strconv.Itoa(reopened) + " reopened"
	}
}

// maxStormLines is how many findings of a storm are listed.
const maxStormLines = 10

// storm announces more findings than anyone can read one by one: how many there are by
// rule, and the most severe ones.
func (p *planner) storm(items []notify.Item) {
	if len(items) == 0 {
		return
	}
	title := openingTitle(items) + " at once"
	l := p.begin(title, bySeverity(items), true)
	for _, i := range items {
		l.cover(i, "")
	}
	l.add(paragraphs(line{words("This many findings at once usually have one cause: look for a single change that explains them.")}))
	p.byRule(l, items)
	p.list(l, "Most severe", p.entries(items), maxStormLines, p.listCommand())
	p.footer(l)
	m := topLevel()
	m.StartsThread = p.threads
	p.add(l, m, body{text: p.summary(title, items)})
}

// byRule counts findings by rule, sorted by name.
func (p *planner) byRule(l *layout, items []notify.Item) {
	n := map[string]int{}
	for _, i := range items {
		n[i.Record.Rule]++
	}
	for _, rule := range slices.Sorted(maps.Keys(n)) {
		if !l.addLine("By rule", line{name(rule, maxLineName), words(": " + strconv.Itoa(n[rule]))}) {
			return
		}
	}
}
