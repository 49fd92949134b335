package report

import (
	"cmp"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// page is a report for people while it is written.
type page struct {
	buf   strings.Builder
	width int
	wide  bool // nothing is cut or left out
	color bool
	now   time.Time // to which ages are counted
}

// printed returns the report for people. What comes first is what must not be
// missed: what is unknown, or that all is clean. What comes last is what stands
// above the prompt when the rest has scrolled away.
func printed(res *audit.Result, opts Options, wide bool) []byte {
	p := &page{
		width: max(cmp.Or(opts.Width, DefaultWidth), MinWidth),
		wide:  wide,
		color: opts.Color,
		now:   res.Started,
	}
	if res.Complete() && len(res.Findings) == 0 {
		p.clean(res)
		p.messages(res)
		p.deliveries(res)
		p.advisories(res)
		p.details(res)
		return []byte(p.buf.String())
	}
	if !res.Complete() {
		p.incomplete(res)
	}
	p.findings(res)
	p.messages(res)
	p.deliveries(res)
	p.advisories(res)
	p.details(res)
	p.summary(res)
	return []byte(p.buf.String())
}

// span is a piece of a line in one style.
type span struct {
	text  shown
	style style
}

// style is what an ANSI sequence makes of text; the zero value is none.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "1;31"
	yellow style = "33"
	cyan   style = "36"
)

// severityStyle returns how a severity stands out.
func severityStyle(s rules.Severity) style {
	switch s {
	case rules.High:
		return red
	case rules.Medium:
		return yellow
	}
	return cyan
}

// line writes spans as one line, without blanks at its end.
func (p *page) line(spans ...span) {
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

// heading writes the line above what a rule found.
func (p *page) heading(word span, rule string, number shown) {
	name := show(rule)
	if !p.wide {
		name = cut(name, p.width-columns(word.text)-columns(number)-4)
	}
	p.line(word, span{text: "  " + name + "  " + number})
	p.blank()
}

func (p *page) blank() { p.buf.WriteByte('\n') }

// maxText is how far running text goes on a wide terminal: longer lines are
// hard to read.
const maxText = 110

// text writes running text, wrapped, behind an indent. The first line begins
// with the label, the others hang below what follows it. So text from a cluster
// never stands at the left edge, where it could pass for a line of ours.
func (p *page) text(indent int, label span, text shown) {
	hang := indent + columns(label.text)
	label.text = blanks(indent) + label.text
	for _, line := range wrap(text, min(p.width, maxText)-hang) {
		p.line(label, span{text: line})
		label = span{text: blanks(hang)}
	}
}
