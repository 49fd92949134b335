package report

import (
	"strings"

	"github.com/eventuallytrue/audit/audit"
)

// messages writes what would be sent, each message as its reader would see it.
func (p *page) messages(res *audit.Result) {
	if len(res.Messages) == 0 {
		return
	}
	p.line(span{"WOULD SEND", bold}, span{text: "  " + count(len(res.Messages), "message")})
	p.blank()
	for _, m := range res.Messages {
		to := show(m.Owner) + " by " + show(m.Sender)
		if m.Address != "" {
			to += " in " + show(m.Address)
		}
		if m.Held {
			to += ", once quiet hours are over"
		}
		p.text(2, span{"- ", dim}, to)
		for line := range strings.Lines(m.Text) {
			p.verbatim(4, strings.TrimRight(line, "\n"))
		}
		p.blank()
	}
}

// verbatim writes a line behind an indent. A table breaks it where it is too wide,
// and keeps the blanks that it begins with.
func (p *page) verbatim(indent int, line string) {
	text := strings.TrimLeft(line, " ")
	indent += len(line) - len(text)
	if p.wide {
		p.line(span{text: blanks(indent) + show(text)})
		return
	}
	p.text(min(indent, p.width/2), span{}, show(text))
}
