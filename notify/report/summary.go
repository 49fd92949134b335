package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// maxOwners is how many owners the last line names.
const maxOwners = 8

// clean writes the one line of a complete sweep without findings, as fully as
// it fits. A sweep that met nothing is not called clean: most often it looked
// at the wrong place.
func (p *page) clean(res *audit.Result) {
	switch {
	case len(res.Rules) == 0:
		p.text(0, span{text: "nothing judged: "}, "no rule ran; "+read(res, true))
	case items(res) == 0:
		p.text(0, span{text: "empty: "}, "no object to judge; "+read(res, true)+"; "+ran(res))
	case res.NotEvaluated() > 0:
		p.text(0, span{text: "not evaluated: "}, count(res.NotEvaluated(), "namespace")+
			" with policies of kinds that are not understood, see below; no findings beside that; "+read(res, true)+"; "+ran(res))
	case len(res.Only) > 0:
		p.longest(
			"clean as far as "+only(res)+": "+read(res, true)+"; "+ran(res)+"; no findings",
			"clean as far as "+only(res)+": "+count(items(res), "object")+" read"+took(res)+"; no findings",
			"clean as far as "+only(res),
		)
	default:
		p.longest(
			"clean: "+read(res, true)+"; "+ran(res)+"; no findings",
			"clean: "+read(res, false)+"; "+ran(res)+"; no findings",
			"clean: "+read(res, false)+"; "+ran(res),
			"clean: "+count(items(res), "object")+" read"+took(res)+"; "+ran(res)+"; no findings",
			"clean: "+count(items(res), "object")+"; no findings",
		)
	}
	if s := told(res); s != "" {
		p.text(0, span{}, s)
	}
	if len(res.Advisories) > 0 || len(audit.Undelivered(res.Deliveries)) > 0 || p.wide {
		p.blank()
	}
}

// only says to what the report was narrowed.
func only(res *audit.Result) shown {
	names := show(strings.Join(res.Only, ", "))
	if len(res.Only) == 1 {
		return "namespace " + names + " goes"
	}
	return "namespaces " + names + " go"
}

// longest writes the first of the lines that fits, or else wraps the last.
func (p *page) longest(lines ...shown) {
	for _, s := range lines {
		if p.wide || columns(s) <= p.width {
			p.line(span{text: s})
			return
		}
	}
	p.text(0, span{}, lines[len(lines)-1])
}

// summary writes the last paragraph: how bad it is, whom it concerns and on
// what that rests.
func (p *page) summary(res *audit.Result) {
	label, what := span{"SUMMARY  ", bold}, count(len(res.Findings), "finding")
	if len(res.Only) > 0 {
		what += " as far as " + only(res)
	}
	if s := severities(res.Findings); s != "" {
		what += " (" + s + ")"
	}
	if !res.Complete() {
		label = span{"INCOMPLETE  ", red}
		what += " in what could be judged"
		if n := judged(res); n == 0 && len(res.Findings) == 0 {
			what = "nothing could be judged"
		}
	}
	if n := res.NotEvaluated(); n > 0 {
		what += "; " + count(n, "namespace") + " not evaluated"
	}
	if s := concerned(res.Findings); s != "" {
		what += "; " + s
	}
	what += "; " + read(res, true)
	if s := unknown(res); s != "" {
		what += "; unknown: " + s
	}
	what += "; " + ran(res)
	if s := told(res); s != "" {
		what += "; " + s
	}
	p.text(0, label, what)
}

// severities counts the findings by severity, the worst first.
func severities(list []audit.Finding) shown {
	var parts []string
	for s := rules.High; s >= rules.Low; s-- {
		n := 0
		for _, f := range list {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, string(number(n))+" "+s.String())
		}
	}
	return join(parts)
}

// concerned names the owners of the findings, by name.
func concerned(list []audit.Finding) shown {
	set := map[string]bool{}
	for _, f := range list {
		for _, o := range f.Owners {
			set[o] = true
		}
	}
	names := slices.Sorted(maps.Keys(set))
	switch n := len(names); {
	case n == 0:
		return ""
	case n > maxOwners:
		return count(n, "owner") + ": " + join(names[:maxOwners]) + " and " + number(n-maxOwners) + " more"
	default:
		return count(n, "owner") + ": " + join(names)
	}
}

// ran says how many rules judged.
func ran(res *audit.Result) shown {
	n := judged(res)
	if n == len(res.Rules) {
		return count(n, "rule") + " ran"
	}
	return number(n) + " of " + count(len(res.Rules), "rule") + " ran"
}

func judged(res *audit.Result) int {
	n := 0
	for _, o := range res.Rules {
		if o.Status == audit.RuleRan {
			n++
		}
	}
	return n
}
