package slack

import (
	"fmt"
	"strconv"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// opening tells of findings that were opened: a line for each, and the details of
// each in the thread. Without threads the details stand in the message.
func (p *planner) opening(items []notify.Item) {
	if len(items) == 0 {
		return
	}
	pg := p.begin(newTitle(items), bySeverity(items))
	for _, i := range items {
		if p.threads {
			pg.cover(i, audit.EventDetails)
		} else {
			pg.cover(i, "")
		}
	}
	if p.threads {
		shown := fill(head(items, maxLines), func(i notify.Item) bool { return pg.addLine("", summary(i)) })
		p.more(pg, len(items)-shown, inThread)
	} else {
		shown := fill(items, func(i notify.Item) bool { return pg.add(details(i, &p.Digest)) })
		p.more(pg, len(items)-shown, inCluster)
	}
	p.footer(pg)
	m := own()
	m.StartsThread = p.threads
	parent := p.add(pg, m, body{text: p.fallback(newTitle(items), items)})
	if p.threads {
		p.details(items, notify.Message{Parent: parent})
	}
}

// fill adds items until one does not fit any more, and returns how many did.
func fill(items []notify.Item, add func(notify.Item) bool) int {
	for n, i := range items {
		if !add(i) {
			return n
		}
	}
	return len(items)
}

// details tells all of some findings, in as many messages as it takes.
func (p *planner) details(items []notify.Item, m notify.Message) {
	pg := &page{}
	flush := func() {
		if len(pg.covers) > 0 {
			p.add(pg, m, body{text: "Details of " + count(len(pg.covers), "finding")})
		}
		pg = &page{}
	}
	for _, i := range items {
		i.Event = audit.EventDetails
		block := details(i, &p.Digest)
		fits := len(pg.blocks) == 0 && pg.add(block) || pg.add(slack.NewDividerBlock(), block)
		if !fits {
			flush()
			pg.add(block)
		}
		pg.cover(i, "")
	}
	flush()
}

// leftDetails tells what an earlier sweep did not come to.
func (p *planner) leftDetails(items []notify.Item) {
	var at []audit.MessageRef
	by := map[audit.MessageRef][]notify.Item{}
	for _, i := range items {
		place := i.Message
		if !p.here(place) {
			place = audit.MessageRef{}
		}
		if by[place] == nil {
			at = append(at, place)
		}
		by[place] = append(by[place], i)
	}
	for _, place := range at {
		p.details(by[place], p.thread(place))
	}
}

// begin begins a message that stands in the channel.
func (p *planner) begin(title, counts string) *page {
	pg := &page{}
	pg.add(header(title + p.on()))
	if p.To.Mention != "" {
		counts = p.To.Mention + " " + counts
	}
	pg.add(markup(counts))
	if p.FallbackReason != "" {
		pg.add(p.instead())
	}
	return pg
}

// instead says why those are told who are not the owners.
func (p *planner) instead() slack.Block {
	return paragraphs(line{words("You are told in place of "), prose(p.FallbackReason, maxProse)})
}

// head returns the first items.
func head(items []notify.Item, most int) []notify.Item { return items[:min(len(items), most)] }

// Where to find what a message has no room for.
const (
	inThread  = "see the thread"
	inCluster = "see kubectl get findings"
)

// more says how many findings a list has no room for, and where they are.
func (p *planner) more(pg *page, n int, where string) {
	if n <= 0 {
		return
	}
	pg.end(small(fmt.Sprintf("… and %d more: %s.", n, where)))
}

// footer says how many findings are open, to those whose they are.
func (p *planner) footer(pg *page) {
	switch {
	case p.FallbackReason != "":
	case p.Open == 0:
		pg.end(small("Nothing is open for " + p.To.Owner + "."))
	default:
		pg.end(small(count(p.Open, "finding") + " open for " + p.To.Owner + "."))
	}
}

// newTitle counts what is new and what came back.
func newTitle(items []notify.Item) string {
	back := 0
	for _, i := range items {
		if i.Event == audit.EventReopened {
			back++
		}
	}
	switch fresh := len(items) - back; {
	case back == 0:
		return count(fresh, "new finding")
	case fresh == 0:
		return count(back, "finding") + " came back"
	default:
		return count(fresh, "new finding") + " and " + strconv.Itoa(back) + " that came back"
	}
}

// on names the cluster, if it has a name.
func (p *planner) on() string {
	if p.Cluster == "" {
		return ""
	}
	return " on " + p.Cluster
}

// fallback is what a notification shows: the title and the first finding.
func (p *planner) fallback(title string, items []notify.Item) string {
	s := title
	if p.Cluster != "" {
		s += " on " + codeSpan(p.Cluster, maxLineName)
	}
	if len(items) > 0 {
		s += ": " + codeSpan(items[0].Record.Subject.String(), maxLineName)
	}
	if len(items) > 1 {
		s += " and others"
	}
	return s
}
