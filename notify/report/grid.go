package report

import (
	"slices"
)

// gap is the room between two columns.
const gap = 2

// column is a column of a grid: a head and a cell for each row.
type column struct {
	head  shown
	cells []shown
	style style
	right bool // aligned to the right, as numbers are
	// least is the width below which the column is not cut; zero means that it
	// is never cut.
	least int
}

// natural returns the width at which nothing of the column is cut.
func (c *column) natural() int {
	n := columns(c.head)
	for _, cell := range c.cells {
		n = max(n, columns(cell))
	}
	return n
}

// empty reports whether no row says anything in the column.
func (c *column) empty() bool {
	return !slices.ContainsFunc(c.cells, func(s shown) bool { return s != "" })
}

// uniform reports whether several rows all say the same in the column.
func (c *column) uniform() bool {
	return len(c.cells) > 1 && !slices.ContainsFunc(c.cells, func(s shown) bool { return s == "" || s != c.cells[0] })
}

// grid writes the columns side by side, fitted to the page. Below each row
// stand, wrapped, the notes to it; notes may be nil.
func (p *page) grid(indent int, cols []column, notes []shown) {
	cols = slices.DeleteFunc(slices.Clone(cols), func(c column) bool { return c.empty() })
	if len(cols) == 0 {
		return
	}
	widths := p.fit(cols, p.width-indent)
	hang := widths[0] + gap // below the second column, where the name stands
	if hang > p.width/3 {
		hang = gap
	}
	heads := make([]shown, len(cols))
	for i, c := range cols {
		heads[i] = c.head
	}
	p.row(indent, cols, widths, heads, dim)
	for r := range cols[0].cells {
		cells := make([]shown, len(cols))
		for i, c := range cols {
			cells[i] = c.cells[r]
		}
		p.row(indent, cols, widths, cells, "")
		if notes != nil && notes[r] != "" {
			p.text(indent, span{text: blanks(hang)}, notes[r])
		}
	}
}

// row writes one row. A style given takes the place of the columns' own.
func (p *page) row(indent int, cols []column, widths []int, cells []shown, of style) {
	spans := []span{{text: blanks(indent)}}
	for i, cell := range cells {
		text := cut(cell, widths[i])
		if cols[i].right {
			text = blanks(widths[i]-columns(text)) + text
		}
		s := of
		if s == "" {
			s = cols[i].style
		}
		spans = append(spans, span{text, s}, span{text: blanks(widths[i] - columns(text) + gap)})
	}
	p.line(spans...)
}

// fit returns the width of each column, so that they fit together into the room
// as far as their smallest widths allow. What is missing is taken from the
// widest column that can give, so that one long name cuts no short one.
func (p *page) fit(cols []column, room int) []int {
	widths, floors := make([]int, len(cols)), make([]int, len(cols))
	over := gap*(len(cols)-1) - room
	for i, c := range cols {
		widths[i] = c.natural()
		floors[i] = widths[i]
		if c.least > 0 {
			floors[i] = min(c.least, widths[i])
		}
		over += widths[i]
	}
	if p.wide {
		return widths
	}
	for ; over > 0; over-- {
		widest := -1
		for i := range cols {
			if widths[i] > floors[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return widths
}
