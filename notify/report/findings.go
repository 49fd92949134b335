package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// findings writes findings in full in their order, with a section for each rule and
// severity.
func (p *printer) findings(list []audit.Record) {
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(r audit.Record) bool {
			return r.Rule != list[0].Rule || r.Severity != list[0].Severity
		})
		if n < 0 {
			n = len(list)
		}
		p.section(list[:n])
		list = list[n:]
	}
}

// selected returns the findings that a selection shows.
func selected(list []audit.Record, s Selection) []audit.Record {
	return slices.DeleteFunc(slices.Clone(list), func(r audit.Record) bool { return !s.selects(&r) })
}

func (p *printer) section(list []audit.Record) {
	severity := list[0].Severity
	p.heading(span{shown(strings.ToUpper(severity.String())), severityStyle(severity)}, list[0].Rule, count(len(list), "finding"))
	p.blank()
	for i := range list {
		p.finding(&list[i])
	}
}

// finding writes what is wrong, the objects involved, the cause, the remedy, the owners
// and what is known of its history.
func (p *printer) finding(r *audit.Record) {
	const indent, inner = 2, 4
	p.subject(indent, r)
	p.objects(inner, r.Objects, r.MoreObjects)
	p.labeled(inner, "what", show(r.Message))
	p.labeled(inner, "why", show(r.Cause))
	p.labeled(inner, "do", show(r.Remedy))
	p.text(inner, label("who"), owners(r.Owners, r.MoreOwners))
	if !r.FirstSeen.IsZero() && r.FirstSeen.Before(p.now) {
		p.text(inner, label("since"), p.when(r.FirstSeen))
	} else if t := since(r, p.now); !p.wide && !t.IsZero() {
		p.text(inner, label("since"), "at the earliest "+p.when(t)+", by the creation of its objects")
	}
	p.history(inner, r)
	p.text(inner, label("id"), show(r.ID))
	p.blank()
}

// when returns a time with its age.
func (p *printer) when(t time.Time) shown { return date(t) + " (" + p.age(t) + ")" }

// history writes what a store knows about the life of a finding and about who was
// notified of it.
func (p *printer) history(indent int, r *audit.Record) {
	if !r.ResolvedAt.IsZero() {
		p.text(indent, label("ended"), p.when(r.ResolvedAt)+", "+show(stateOf(r)))
	}
	if r.Reopened > 0 {
		p.text(indent, label("again"), "opened again "+count(r.Reopened, "time")+", last "+p.when(r.OpenedAt))
	}
	for _, n := range r.Notifications {
		var text shown
		if n.Last != "" {
			text = show(string(n.Last)) + " to " + show(n.Owner) + " by " + show(n.Sender) + ", " + p.when(n.At)
			if n.Message.Channel != "" {
				text += " in " + show(n.Message.Channel)
			}
		}
		if n.Pending != "" {
			if text == "" {
				text = show(n.Owner) + " by " + show(n.Sender)
			}
			text += ", pending: " + show(string(n.Pending))
		}
		if n.Error != "" {
			text += ", refused: " + show(n.Error)
		}
		p.labeled(indent, "sent", text)
	}
}

// subject writes the heading of a finding.
func (p *printer) subject(indent int, r *audit.Record) {
	kind, name := show(r.Subject.Kind)+" ", show(r.Subject.String())
	var state shown
	if r.Verdict != "" {
		state = ": " + show(r.Verdict)
	}
	if s := stateOf(r); s != "" && r.State != audit.StateOpen {
		state += ", " + show(s)
	}
	if !p.wide && indent+columns(kind)+columns(name)+columns(state) > p.width {
		p.text(indent, span{text: kind}, name+state)
		return
	}
	p.line(span{text: blanks(indent) + kind}, span{name, bold}, span{text: state})
}

// label returns the label of a paragraph.
func label(word shown) span { return span{pad(word, 6), dim} }

// labeled writes a paragraph with a label, unless it is empty.
func (p *printer) labeled(indent int, word, text shown) {
	if text != "" {
		p.text(indent, label(word), text)
	}
}

// owners lists the owners of a finding, and counts those who are not notified.
func owners(names []string, more int) shown {
	if len(names) == 0 {
		return noOwner
	}
	if more > 0 {
		return join(names) + " and " + number(more) + " more, who are not notified"
	}
	return join(names)
}

// objects writes a row for each object with its owner, creation time and role in the
// finding. If the columns don't fit, some of them move to a line below the row.
func (p *printer) objects(indent int, list []rules.Object, more int) {
	if len(list) == 0 {
		return
	}
	kind := cells("KIND", list, func(o rules.Object) shown { return show(o.Kind) })
	name := cells("NAME", list, objectName)
	owner := cells("OWNER", list, func(o rules.Object) shown { return cmp.Or(show(o.Owner), "no owner") })
	created := cells("CREATED (UTC)", list, func(o rules.Object) shown { return date(o.Created) })
	age := cells("AGE", list, func(o rules.Object) shown { return p.age(o.Created) })
	role := cells("DETAIL", list, roleOf)
	kind.least, name.least, owner.least = 8, 14, 8
	age.style, age.right = dim, true

	all := []column{kind, name, owner, created, age, role}
	switch {
	case p.wide || p.legible(indent, all):
		p.grid(indent, all, nil)
	case p.legible(indent, all[:5]) && role.uniform():
		p.grid(indent, all[:5], nil)
		p.text(indent, label("each"), role.cells[0])
	case p.legible(indent, all[:5]):
		p.grid(indent, all[:5], role.cells)
	default:
		notes := make([]shown, len(list))
		for i, o := range list {
			notes[i] = p.stacked(o)
		}
		p.grid(indent, all[:3], notes)
	}
	if more > 0 {
		p.text(indent, span{}, "and "+number(more)+" more, which are not stored")
	}
}

// legible reports whether the columns fit side by side with enough room to distinguish
// names. The role of an object is a phrase and must not be cut.
func (p *printer) legible(indent int, cols []column) bool {
	need := indent - gap
	for i := range cols {
		c := &cols[i]
		if c.empty() {
			continue
		}
		n := c.natural()
		switch c.head {
		case "NAME":
			n = min(n, 30)
		case "OWNER":
			n = min(n, 16)
		}
		need += n + gap
	}
	return need <= p.width
}

// stacked returns the creation time and role of an object as one line.
func (p *printer) stacked(o rules.Object) shown {
	note := roleOf(o)
	if o.Created.IsZero() {
		return note
	}
	when := "created " + date(o.Created)
	if age := p.age(o.Created); age != "" {
		when += " (" + age + ")"
	}
	if note != "" {
		when += ", " + note
	}
	return when
}

func objectName(o rules.Object) shown {
	if o.Namespace == "" {
		return show(o.Name)
	}
	return show(o.Namespace) + "/" + show(o.Name)
}

// roleOf returns the role of the object: the phrase for people, or else the word.
func roleOf(o rules.Object) shown { return show(cmp.Or(o.Detail, o.Reason)) }
