package report

import (
	"slices"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// screen is the number of lines that a table should not exceed, and leastLines what it
// has for findings in any case.
const (
	screen     = 56
	leastLines = 12
)

// records returns findings of a sweep as those of a store, without a history.
func records(list []audit.Finding) []audit.Record {
	out := make([]audit.Record, len(list))
	for i, f := range list {
		out[i].Finding = f
	}
	return out
}

// table writes the findings, a line each, in at most so many lines if that is possible
// without hiding an owner.
func (p *printer) table(list []audit.Record, s Selection, most int) {
	v := NewView(list, p.now, s, most)
	for _, g := range v.Groups {
		if g.Name != "" {
			name := show(g.Name)
			if !p.wide {
				name = cut(name, p.width/2)
			}
			p.line(span{name, bold}, span{text: "  " + count(g.Findings, "finding")})
			p.blank()
		}
		p.lines(g.Lines)
		p.blank()
	}
}

// lines writes lines as a grid. On a narrow terminal, owners and times are below them.
func (p *printer) lines(list []Line) {
	severity := cells("SEV", list, func(l Line) shown { return shortSeverity(l.Severity) })
	for _, l := range list {
		severity.styles = append(severity.styles, severityStyle(l.Severity))
	}
	subject := cells("SUBJECT", list, func(l Line) shown { return show(l.Subject) })
	subject.least = 10
	owners := cells("OWNERS", list, func(l Line) shown { return show(l.Owners) })
	owners.least, owners.atEnd = 9, true
	state := cells("STATE", list, func(l Line) shown { return show(l.State) })
	if !p.stated && !slices.ContainsFunc(list, func(l Line) bool { return l.State != "open" }) {
		state.cells = make([]shown, len(list))
	}
	state.least = 8
	age := cells("SINCE", list, func(l Line) shown { return p.age(l.Since) })
	age.right = true
	id := cells("ID", list, func(l Line) shown { return show(l.Short) })
	id.style = dim

	narrow := p.width < 72
	others := []column{severity, subject, owners, state, age, id}
	if narrow {
		others = []column{severity, subject, id}
	}
	room := p.width
	for i := range others {
		if c := &others[i]; !c.empty() {
			room -= c.usual(p.width) + gap
		}
	}
	if room < widest(list) {
		// Sentences lose more by a cut than names do.
		subject.shorten(p.width)
		owners.shorten(p.width)
	}
	what := cells("WHAT", list, func(l Line) shown { return l.fitting(room) })
	what.least, what.atEnd = 11, true
	if !narrow {
		p.grid(0, []column{severity, subject, what, owners, state, age, id}, nil)
		return
	}
	notes := make([]shown, len(list))
	for i, l := range list {
		notes[i] = joinNotEmpty(owners.cells[i], sinceNote(age.cells[i]), unlessOpen(l.State))
	}
	p.grid(0, []column{severity, subject, what, id}, notes)
}

// usual returns the width that a column has beside others. Names and owners can be of any
// length, and few are long.
func (c *column) usual(width int) int {
	n := c.natural()
	switch c.head {
	case "SUBJECT":
		n = min(n, width*3/10)
	case "OWNERS":
		n = min(n, width/5)
	}
	return n
}

// shorten cuts the cells to the usual width.
func (c *column) shorten(width int) {
	n := c.usual(width)
	for i, cell := range c.cells {
		if c.atEnd {
			c.cells[i] = cutEnd(cell, n)
		} else {
			c.cells[i] = cut(cell, n)
		}
	}
}

// widest returns the width of the longest text of lines.
func widest(list []Line) int {
	n := 0
	for _, l := range list {
		n = max(n, columns(show(l.What)))
	}
	return n
}

// fitting returns the longest text of a line that fits the room.
func (l *Line) fitting(room int) shown {
	for _, text := range []string{l.What, l.phrase.like} {
		if s := show(text); columns(s) <= room && (text != l.phrase.like || l.Short != "") {
			return s
		}
	}
	if l.Short == "" {
		return show(l.What) // it is cut after what matters
	}
	return show(l.Brief)
}

// shortSeverity returns a severity for a column.
func shortSeverity(s rules.Severity) shown {
	if s == rules.Medium {
		return "med"
	}
	return show(s.String())
}

func sinceNote(age shown) shown {
	if age == "" {
		return ""
	}
	return "for " + age
}

func unlessOpen(state string) shown {
	if state == "open" {
		return ""
	}
	return show(state)
}

func joinNotEmpty(parts ...shown) shown {
	var out shown
	for _, part := range parts {
		if part != "" && out != "" {
			out += ", "
		}
		out += part
	}
	return out
}

// totals writes how many of the findings are shown, and how many of those each owner has.
func (p *printer) totals(list []audit.Record, s Selection) {
	if s.narrows() {
		all := len(list)
		list = selected(list, s)
		p.text(0, span{"SHOWN    ", bold}, number(len(list))+" of "+count(all, "finding")+" ("+show(s.String())+")")
	}
	if len(list) == 0 {
		return
	}
	most := maxOwners
	owners := countOwners(list)
	if p.wide {
		most = len(owners)
	}
	var parts []shown
	for _, c := range owners[:min(most, len(owners))] {
		name := show(c.Owner)
		if !p.wide {
			name = cut(name, maxCell)
		}
		parts = append(parts, name+" "+number(c.Findings))
	}
	if more := owners[min(most, len(owners)):]; len(more) > 0 {
		n := 0
		for _, c := range more {
			n += c.Findings
		}
		parts = append(parts, count(len(more), "other")+" "+number(n))
	}
	p.list(span{"OWNERS   ", bold}, parts)
}

// oldest says since when the oldest finding is known or can have begun.
func (p *printer) oldest(list []audit.Record) shown {
	var first time.Time
	for i := range list {
		if t := since(&list[i], p.now); first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return p.age(first)
}
