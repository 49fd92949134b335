package slack

import (
	"slices"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// refresh brings the message at a place up to date: what is over is struck
// through and ticked. Nothing is lost where that fails.
func (p *planner) refresh(at audit.MessageRef) {
	all := slices.Clone(p.Earlier[at])
	if len(all) == 0 {
		return
	}
	var open []notify.Item
	storm := true
	for n := range all {
		i := &all[n]
		i.Owners = ownersAt(&i.Record, at)
		if !over(*i) {
			open = append(open, *i)
		}
		storm = storm && i.Record.Storm
	}
	title := count(len(all), "finding")
	standing := "Nothing of this is open any more."
	if len(open) > 0 {
		standing = "Still open: " + bySeverity(open)
	}
	pg := &page{}
	pg.add(header(title + p.on()))
	pg.add(markup(standing))
	most := maxLines
	if storm {
		p.byRule(pg, all)
		most = maxStormLines
	}
	if len(all) > most {
		// What is open is what the room is for.
		slices.SortStableFunc(all, func(a, b notify.Item) int { return order(over(a)) - order(over(b)) })
	}
	shown := fill(head(all, most), func(i notify.Item) bool { return pg.addLine("", state(i)) })
	p.more(pg, len(all)-shown, inCluster)
	m := own()
	m.Optional = true
	p.add(pg, m, body{update: at, text: p.fallback(title, all)})
}

// over reports whether there is nothing to do about a finding any more for those
// who were told of it.
func over(i notify.Item) bool { return i.Record.State == audit.StateResolved || released(i) }

func order(over bool) int {
	if over {
		return 1
	}
	return 0
}

// ownersAt returns the owners whom the message at a place told of a finding.
func ownersAt(r *audit.Record, at audit.MessageRef) []string {
	var out []string
	for _, t := range r.Notifications {
		if t.Message == at {
			out = append(out, t.Owner)
		}
	}
	return out
}
