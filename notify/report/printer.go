package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/eventuallytrue/audit/rules"
)

// Options are the layout of Table and Wide. The other formats ignore them.
type Options struct {
	// Width is the number of terminal columns. No line of a Table is wider,
	// except for commands that are to be pasted; in Wide
	// only running text is wrapped, and rows are as wide as their cells. Zero means
	// DefaultWidth; less than MinWidth means MinWidth.
	Width int
	// Color highlights severities, subjects and ages with ANSI sequences.
	Color bool
	// Selection is which findings are shown. It applies to JSON and YAML, too, except
	// for the arrangement.
	Selection Selection
	// Program is what users call to explain a finding; "" for audit.
	Program string
}

// The width if the terminal has no known size, and the least width.
const (
	DefaultWidth = 100
	MinWidth     = 40
)

// Colors are the values of Colored, besides auto, which is the default.
const (
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// Colored turns color on or off. Auto leaves it as it is.
func (o Options) Colored(when string) (Options, error) {
	switch when {
	case ColorAuto:
	case ColorAlways:
		o.Color = true
	case ColorNever:
		o.Color = false
	default:
		return o, fmt.Errorf("--color: invalid value %q, must be one of: auto, always, never", when)
	}
	return o, nil
}

// OptionsFor returns options for the writer. Width is that of the terminal behind
// it, or else COLUMNS, or else DefaultWidth. Color is on for terminals, unless
// NO_COLOR is set or TERM is dumb. getenv is os.Getenv.
func OptionsFor(w io.Writer, getenv func(string) string) Options {
	fd, ok := terminal(w)
	opts := Options{Color: ok && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
	if ok {
		// A terminal on a serial line may not know its size.
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			opts.Width = width
			return opts
		}
	}
	opts.Width = DefaultWidth
	if width, err := strconv.Atoi(getenv("COLUMNS")); err == nil && width > 0 {
		opts.Width = width
	}
	return opts
}

// terminal returns the file descriptor of the writer if it is a terminal.
func terminal(w io.Writer) (fd int, ok bool) {
	f, ok := w.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// printer writes the lines, paragraphs and grids of a report for people.
type printer struct {
	buf   strings.Builder
	width int
	wide  bool // nothing is cut or left out
	color bool
	now   time.Time // that ages are relative to
	// stated shows the state of findings even if all are open.
	stated bool
	// selection is which findings are shown, program what explains them.
	selection Selection
	program   shown
}

// span is a piece of a line in one style.
type span struct {
	text  shown
	style style
}

// style is the parameter of an ANSI SGR sequence; the zero value is no style.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "1;31"
	yellow style = "33"
	cyan   style = "36"
)

// severityStyle returns the highlighting of a severity.
func severityStyle(s rules.Severity) style {
	switch s {
	case rules.High:
		return red
	case rules.Medium:
		return yellow
	}
	return cyan
}

// line writes spans as one line, without trailing blanks.
func (p *printer) line(spans ...span) {
	for len(spans) > 0 {
		last := &spans[len(spans)-1]
		last.text = shown(strings.TrimRight(string(last.text), " "))
		if last.text != "" {
			break
		}
		spans = spans[:len(spans)-1]
	}
	for _, s := range spans {
		if p.color && s.style != "" && s.text != "" {
			p.buf.WriteString("\x1b[" + string(s.style) + "m" + string(s.text) + "\x1b[0m")
		} else {
			p.buf.WriteString(string(s.text))
		}
	}
	p.buf.WriteByte('\n')
}

// heading writes the line above the findings or advisories of a rule.
func (p *printer) heading(word span, rule string, number shown) {
	name := show(rule)
	if !p.wide {
		name = cut(name, p.width-columns(word.text)-columns(number)-4)
	}
	p.line(word, span{text: "  " + name + "  " + number})
}

func (p *printer) blank() { p.buf.WriteByte('\n') }

// maxText is the width of running text on a wide terminal; longer lines are hard to
// read.
const maxText = 110

// text writes running text, wrapped and indented. The first line begins with the
// label, and the others align with the text after it. Text from a cluster is always
// indented, so that it cannot pass for a line of the report's own.
func (p *printer) text(indent int, label span, text shown) {
	hang := indent + columns(label.text)
	label.text = blanks(indent) + label.text
	for _, line := range wrap(text, min(p.width, maxText)-hang) {
		p.line(label, span{text: line})
		label = span{text: blanks(hang)}
	}
}

// list writes parts as text with commas, which is not wrapped inside a part unless it is
// longer than a line.
func (p *printer) list(label span, parts []shown) {
	room := min(p.width, maxText) - columns(label.text)
	line := shown("")
	for i, part := range parts {
		if i < len(parts)-1 {
			part += ","
		}
		if line != "" && columns(line)+1+columns(part) > room {
			p.text(0, label, line)
			label, line = span{text: blanks(columns(label.text))}, ""
		}
		if line != "" {
			line += " "
		}
		line += part
	}
	p.text(0, label, line)
}

// age returns how long before the sweep the time was, "" if either is unknown.
func (p *printer) age(t time.Time) shown {
	switch {
	case t.IsZero() || p.now.IsZero():
		return ""
	case t.After(p.now.Add(time.Minute)):
		return "future"
	case t.After(p.now):
		// Created during the sweep, or the clocks differ slightly.
		return "0s"
	}
	return show(rules.Age(p.now.Sub(t)))
}

// maxItems is the number of items of one kind that a table lists.
const maxItems = 5

// gap is the space between two columns.
const gap = 2

// column is a column of a grid: a head and a cell for each row.
type column struct {
	head  shown
	cells []shown
	style style
	// styles are the styles of the cells where they differ.
	styles []style
	right  bool // aligned to the right, as numbers are
	atEnd  bool // cut at the end, as sentences are, and not in the middle
	// least is the width that the column may be cut to; zero means never cut.
	least int
}

// cells returns a column with a cell for each element of a list.
func cells[T any](head shown, list []T, cell func(T) shown) column {
	c := column{head: head}
	for _, e := range list {
		c.cells = append(c.cells, cell(e))
	}
	return c
}

// natural returns the width at which no cell is cut.
func (c *column) natural() int {
	n := columns(c.head)
	for _, cell := range c.cells {
		n = max(n, columns(cell))
	}
	return n
}

// empty reports whether every cell is empty.
func (c *column) empty() bool {
	return !slices.ContainsFunc(c.cells, func(s shown) bool { return s != "" })
}

// uniform reports whether there are several cells and all are the same.
func (c *column) uniform() bool {
	return len(c.cells) > 1 && !slices.ContainsFunc(c.cells, func(s shown) bool { return s == "" || s != c.cells[0] })
}

// grid writes the columns side by side, fitted to the width. Each row is followed by
// its note, wrapped; notes may be nil.
func (p *printer) grid(indent int, cols []column, notes []shown) {
	cols = slices.DeleteFunc(slices.Clone(cols), func(c column) bool { return c.empty() })
	if len(cols) == 0 {
		return
	}
	widths := p.fit(cols, p.width-indent)
	hang := widths[0] + gap // below the second column, the name
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
		cols := slices.Clone(cols)
		for i, c := range cols {
			cells[i] = c.cells[r]
			if c.styles != nil {
				cols[i].style = c.styles[r]
			}
		}
		p.row(indent, cols, widths, cells, "")
		if notes != nil && notes[r] != "" {
			p.text(indent, span{text: blanks(hang)}, notes[r])
		}
	}
}

// row writes one row. A style that is not empty overrides those of the columns.
func (p *printer) row(indent int, cols []column, widths []int, cells []shown, of style) {
	spans := []span{{text: blanks(indent)}}
	for i, cell := range cells {
		text := cell
		if cols[i].atEnd {
			text = cutEnd(cell, widths[i])
		} else {
			text = cut(cell, widths[i])
		}
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

// fit returns widths with which the columns fit into the room, as far as their least
// widths allow. It always narrows the widest column that can be narrowed, so that a
// long name does not cut short ones.
func (p *printer) fit(cols []column, room int) []int {
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
