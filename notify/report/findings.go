package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// findings writes the selected findings in full in the order of the result, the most
// severe first, with a section for each rule and severity.
func (p *printer) findings(res *audit.Result, s Selection) {
	list := selected(res.Findings, s)
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(f audit.Finding) bool {
			return f.Rule != list[0].Rule || f.Severity != list[0].Severity
		})
		if n < 0 {
			n = len(list)
		}
		p.section(list[:n])
		list = list[n:]
	}
}

// selected returns the findings that a selection shows.
func selected(list []audit.Finding, s Selection) []audit.Finding {
	return slices.DeleteFunc(slices.Clone(list), func(f audit.Finding) bool { return !s.selects(&audit.Record{Finding: f}) })
}

func (p *printer) section(list []audit.Finding) {
	severity := list[0].Severity
	p.heading(span{shown(strings.ToUpper(severity.String())), severityStyle(severity)}, list[0].Rule, count(len(list), "finding"))
	p.blank()
	said := map[string]shown{}
	for _, f := range list {
		p.finding(f, said)
	}
}

// finding writes what is wrong, the objects involved, the cause, the remedy and the
// owners. said has the subjects whose remedies the section has printed, by remedy.
func (p *printer) finding(f audit.Finding, said map[string]shown) {
	const indent, inner = 2, 4
	p.subject(indent, f)
	p.objects(inner, f.Objects)
	p.labeled(inner, "what", show(f.Message))
	p.labeled(inner, "why", show(f.Cause))
	p.labeled(inner, "do", p.once(f, said))
	p.text(inner, label("who"), owners(f.Owners))
	if !f.FirstSeen.IsZero() && f.FirstSeen.Before(p.now) {
		p.text(inner, label("since"), date(f.FirstSeen)+" ("+p.age(f.FirstSeen)+")")
	}
	if p.wide {
		p.text(inner, label("id"), show(f.ID))
	}
	p.blank()
}

// subject writes the heading of a finding.
func (p *printer) subject(indent int, f audit.Finding) {
	kind, name := show(f.Subject.Kind)+" ", show(f.Subject.String())
	var state shown
	if f.Verdict != "" {
		state = ": " + show(f.Verdict)
	}
	if f.State != "" && f.State != audit.StateOpen {
		state += ", " + show(strings.ToLower(string(f.State)))
	}
	if !p.wide {
		// Kind and state are normally short; if not, the name takes precedence.
		kind, state = cut(kind, 10), cut(state, (p.width-indent)/2-5)
		name = cut(name, p.width-indent-columns(kind)-columns(state))
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

// once returns the remedy, or a reference to a finding above with the same remedy,
// because most findings of a rule have the same one. Wide output repeats it, because
// it is searched and split by scripts.
func (p *printer) once(f audit.Finding, said map[string]shown) shown {
	s := show(f.Remedy)
	if p.wide || columns(s) <= p.width/2 {
		return s
	}
	if where, ok := said[f.Remedy]; ok {
		return "same as for " + where + " above"
	}
	said[f.Remedy] = cut(show(f.Subject.String()), p.width/2)
	return s
}

// owners lists the owners of a finding.
func owners(names []string) shown {
	if len(names) == 0 {
		return "no owner"
	}
	return join(names)
}

// maxObjects is the number of objects of one finding that a table lists, so that a
// finding with very many does not hide the next one.
const maxObjects = 40

// objects writes a row for each object with its owner, creation time and role in the
// finding. If the columns don't fit, some of them move to a line below the row.
func (p *printer) objects(indent int, list []rules.Object) {
	more := 0
	if !p.wide && len(list) > maxObjects {
		list, more = list[:maxObjects], len(list)-maxObjects
	}
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
		p.text(indent, span{}, "and "+number(more)+" more (-o wide shows all)")
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
