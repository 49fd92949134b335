package report

import (
	"slices"

	"github.com/eventuallytrue/audit/audit"
)

// maxAdvisories is the number of advisories that a table lists in full. If there are
// more, it lists fewOfRule of each rule.
const (
	maxAdvisories = 8
	fewOfRule     = 2
)

// notEvaluated is the detail of the subject of an advisory on what a rule could not
// evaluate.
const notEvaluated = "not evaluated"

func isNotEvaluated(a audit.Advisory) bool { return a.Subject.Detail == notEvaluated }

// notEvaluated writes what rules could not evaluate. The absence of a finding there says
// nothing, so that it comes before what is only for information.
func (p *printer) notEvaluated(res *audit.Result) {
	list := slices.DeleteFunc(slices.Clone(res.Advisories), func(a audit.Advisory) bool { return !isNotEvaluated(a) })
	if len(list) == 0 {
		return
	}
	p.line(span{"NOT EVALUATED", yellow}, span{text: "  " + number(len(list))})
	p.listAdvisories(list, maxItems)
}

// advisories writes the other advisories by rule: a few of each rule in a table, and all
// with their objects in wide output.
func (p *printer) advisories(res *audit.Result) {
	list := slices.DeleteFunc(slices.Clone(res.Advisories), isNotEvaluated)
	most := maxItems
	if len(list) > maxAdvisories {
		most = fewOfRule
	}
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(a audit.Advisory) bool { return a.Rule != list[0].Rule })
		if n < 0 {
			n = len(list)
		}
		p.heading(span{"ADVISORY", cyan}, list[0].Rule, number(n)+", for information")
		p.listAdvisories(list[:n], most)
		list = list[n:]
	}
}

func (p *printer) listAdvisories(list []audit.Advisory, most int) {
	const indent = 2
	for i, a := range list {
		if !p.wide && i == most {
			p.text(indent, span{}, "and "+number(len(list)-i)+" more (-o wide shows all)")
			break
		}
		p.advisory(indent, a)
	}
	p.blank()
}

func (p *printer) advisory(indent int, a audit.Advisory) {
	subject := show(a.Subject.Kind) + " " + show(a.Subject.String())
	if !p.wide {
		subject = cut(subject, p.width-indent-1)
	}
	text := subject + ": " + show(a.Message)
	if len(a.Owners) > 0 {
		text += " (" + join(a.Owners) + ")"
	}
	p.text(indent, span{"- ", dim}, text)
	if p.wide {
		p.objects(indent+4, a.Objects, 0)
	}
}
