package report

import (
	"cmp"

	"github.com/eventuallytrue/audit/rules"
)

// maxObjects is how many objects of one finding a table lists. Few findings
// have so many; those that do must not bury the next one.
const maxObjects = 40

// objects writes a row for each object: what it is, whose it is, since when it
// is there and what part it plays.
func (p *page) objects(indent int, list []rules.Object) {
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
	part := cells("DETAIL", list, partOf)
	kind.least, name.least, owner.least = 8, 14, 8
	age.style, age.right = dim, true

	all := []column{kind, name, owner, created, age, part}
	switch {
	case p.wide || p.legible(indent, all):
		p.grid(indent, all, nil)
	case p.legible(indent, all[:5]) && part.uniform():
		p.grid(indent, all[:5], nil)
		p.text(indent, label("each"), part.cells[0])
	case p.legible(indent, all[:5]):
		p.grid(indent, all[:5], part.cells)
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

// legible reports whether the columns fit side by side with room enough to tell
// names apart. What part an object plays is a phrase and must not be cut.
func (p *page) legible(indent int, cols []column) bool {
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

// stacked says on a line of its own when an object came and what part it
// plays.
func (p *page) stacked(o rules.Object) shown {
	note := partOf(o)
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

// partOf returns what part the object plays: the phrase for people, or else the
// word.
func partOf(o rules.Object) shown { return show(cmp.Or(o.Detail, o.Reason)) }
