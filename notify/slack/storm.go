package slack

import (
	"maps"
	"slices"
	"strconv"

	"github.com/eventuallytrue/audit/notify"
)

// maxStormLines is how many findings of a storm are named.
const maxStormLines = 10

// storm tells of more findings than one can be told one by one: how many there
// are of what, and the heaviest of them.
func (p *planner) storm(items []notify.Item) {
	if len(items) == 0 {
		return
	}
	title := newTitle(items) + " at once"
	pg := p.begin(title, bySeverity(items))
	for _, i := range items {
		pg.cover(i, "")
	}
	pg.add(paragraphs(line{words("So many at once are seldom so many faults: look for the one change behind them first.")}))
	p.byRule(pg, items)
	shown := fill(head(items, maxStormLines), func(i notify.Item) bool { return pg.addLine("The first of them", summary(i)) })
	p.more(pg, len(items)-shown, inCluster)
	p.footer(pg)
	m := own()
	m.StartsThread = p.threads
	p.add(pg, m, body{text: p.fallback(title, items)})
}

// byRule counts findings by rule, in the order of the rules' names.
func (p *planner) byRule(pg *page, items []notify.Item) {
	n := map[string]int{}
	for _, i := range items {
		n[i.Record.Rule]++
	}
	for _, rule := range slices.Sorted(maps.Keys(n)) {
		if !pg.addLine("By rule", line{name(rule, maxLineName), words(": " + strconv.Itoa(n[rule]))}) {
			return
		}
	}
}
