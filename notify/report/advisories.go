package report

import (
	"slices"

	"github.com/eventuallytrue/audit/audit"
)

// maxAdvisories is how many advisories of one rule a table lists.
const maxAdvisories = 5

// advisories writes the advisories by rule: a few of each in a table, all and
// with their objects in wide.
func (p *page) advisories(res *audit.Result) {
	list := res.Advisories
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(a audit.Advisory) bool { return a.Rule != list[0].Rule })
		if n < 0 {
			n = len(list)
		}
		p.advisoriesOf(list[:n])
		list = list[n:]
	}
}

func (p *page) advisoriesOf(list []audit.Advisory) {
	const indent = 2
	p.heading(span{"ADVISORY", cyan}, list[0].Rule, number(len(list))+", for information")
	for i, a := range list {
		if !p.wide && i == maxAdvisories {
			p.text(indent, span{}, "and "+number(len(list)-i)+" more (-o wide shows all)")
			break
		}
		p.advisory(indent, a)
	}
	p.blank()
}

func (p *page) advisory(indent int, a audit.Advisory) {
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
		p.objects(indent+4, a.Objects)
	}
}
