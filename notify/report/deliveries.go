package report

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
)

// unpublished writes what was not published, with the reasons. The summary counts what
// was.
func (p *printer) unpublished(res *audit.Result) {
	failures := res.Failures()
	for _, s := range []struct {
		stage audit.Stage
		label shown
	}{
		{audit.StagePublish, "NOT PUBLISHED"},
		{audit.StageStore, "NOT STORED"},
		{audit.StageDeliver, "NOT DELIVERED"},
		{audit.StagePush, "NOT PUSHED"},
	} {
		p.notDone(s.label, s.stage, failures)
	}
}

func (p *printer) notDone(label shown, stage audit.Stage, failures []audit.Failure) {
	failures = slices.DeleteFunc(slices.Clone(failures), func(f audit.Failure) bool { return f.Stage != stage })
	if len(failures) == 0 {
		return
	}
	const indent = 2
	p.line(span{label, red}, span{text: "  " + number(len(failures))})
	p.blank()
	for i, f := range failures {
		if !p.wide && i == maxItems {
			p.text(indent, span{}, "and "+number(len(failures)-i)+" more (-o wide shows all)")
			break
		}
		p.text(indent, span{"- ", dim}, show(f.Where)+": "+show(trim(f.Reason)))
	}
	p.blank()
}

// notified counts the digests that were sent, held or kept back.
func notified(res *audit.Result) shown {
	var parts []string
	n := map[audit.DeliveryResult]int{}
	for _, d := range res.Deliveries {
		if d.Owner != "" { // otherwise it is not a digest
			n[d.Result]++
		}
	}
	if n[audit.DeliverySent] > 0 {
		parts = append(parts, string(count(n[audit.DeliverySent], "digest"))+" sent")
	}
	if n[audit.DeliveryHeld] > 0 {
		parts = append(parts, string(count(n[audit.DeliveryHeld], "digest"))+" held for quiet hours")
	}
	if s := res.ReportOnly; s != nil {
		parts = append(parts, string("report-only: "+count(s.Findings, "finding")+" not sent ("+count(s.Messages, "message")+")"))
	}
	return join(parts)
}

// messages writes the messages of a dry run as their readers would see them.
func (p *printer) messages(res *audit.Result) {
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
			to += ", after quiet hours"
		}
		p.text(2, span{"- ", dim}, to)
		for line := range strings.Lines(m.Text) {
			p.verbatim(4, strings.TrimRight(line, "\n"))
		}
		p.blank()
	}
}

// verbatim writes an indented line and keeps its leading blanks. A table wraps it if it
// is too long.
func (p *printer) verbatim(indent int, line string) {
	text := strings.TrimLeft(line, " ")
	indent += len(line) - len(text)
	if p.wide {
		p.line(span{text: blanks(indent) + show(text)})
		return
	}
	p.text(min(indent, p.width/2), span{}, show(text))
}
