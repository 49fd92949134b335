package report

import (
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
)

// findings writes the findings, one section for those of one rule and severity,
// in the order of the result: the worst first.
func (p *page) findings(res *audit.Result) {
	list := res.Findings
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

func (p *page) section(list []audit.Finding) {
	severity := list[0].Severity
	p.heading(span{shown(strings.ToUpper(severity.String())), severityStyle(severity)}, list[0].Rule, count(len(list), "finding"))
	said := map[string]shown{}
	for _, f := range list {
		p.finding(f, said)
	}
}

// finding writes what is wrong, on what it rests, why, what to do and who has
// to. said tells which remedies the section has told, and for what.
func (p *page) finding(f audit.Finding, said map[string]shown) {
	const indent, inner = 2, 4
	p.subject(indent, f)
	p.objects(inner, f.Objects)
	p.part(inner, "what", show(f.Message))
	p.part(inner, "why", show(f.Cause))
	p.part(inner, "do", p.once(f, said))
	p.text(inner, label("who"), owners(f.Owners))
	if !f.FirstSeen.IsZero() && f.FirstSeen.Before(p.now) {
		p.text(inner, label("since"), date(f.FirstSeen)+" ("+p.age(f.FirstSeen)+")")
	}
	if p.wide {
		p.text(inner, label("id"), show(f.ID))
	}
	p.blank()
}

// subject writes the line that a finding is known by.
func (p *page) subject(indent int, f audit.Finding) {
	kind, name := show(f.Subject.Kind)+" ", show(f.Subject.String())
	var state shown
	if f.Verdict != "" {
		state = ": " + show(f.Verdict)
	}
	if f.State != "" && f.State != audit.StateOpen {
		state += ", " + show(strings.ToLower(string(f.State)))
	}
	if !p.wide {
		// Words of ours are short; what is long gives way to the name.
		kind, state = cut(kind, 10), cut(state, (p.width-indent)/2-5)
		name = cut(name, p.width-indent-columns(kind)-columns(state))
	}
	p.line(span{text: blanks(indent) + kind}, span{name, bold}, span{text: state})
}

// label returns the word before a paragraph of a finding.
func label(word shown) span { return span{pad(word, 6), dim} }

// part writes a paragraph of a finding behind its label, if there is one.
func (p *page) part(indent int, word, text shown) {
	if text != "" {
		p.text(indent, label(word), text)
	}
}

// once returns the remedy, or where it stands word for word already: most
// findings of a rule are mended in one way. Wide, which is searched and cut up,
// repeats it.
func (p *page) once(f audit.Finding, said map[string]shown) shown {
	s := show(f.Remedy)
	if p.wide || columns(s) <= p.width/2 {
		return s
	}
	if where, ok := said[f.Remedy]; ok {
		return "as for " + where + ", above"
	}
	said[f.Remedy] = cut(show(f.Subject.String()), p.width/2)
	return s
}

// owners returns who is told, or that nobody is.
func owners(names []string) shown {
	if len(names) == 0 {
		return "no owner is known"
	}
	return join(names)
}
