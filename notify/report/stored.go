package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// Records turns the findings of a sweep into those of a store without a history.
func Records(list []audit.Finding) []audit.Record { return records(list) }

// Select returns the findings that a selection shows.
func Select(list []audit.Record, s Selection) []audit.Record { return selected(list, s) }

// WriteFindings writes findings without a report around them: those that are stored, or
// those that a user asked for. Table has a line for each subject, Wide everything.
func WriteFindings(w io.Writer, format Format, list []audit.Record, now time.Time, opts Options) error {
	all := list
	list = selected(list, opts.Selection)
	slices.SortStableFunc(list, func(a, b audit.Record) int {
		return cmp.Or(cmp.Compare(truth(a.State == audit.StateResolved), truth(b.State == audit.StateResolved)),
			-cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Rule, b.Rule), a.Subject.Compare(b.Subject))
	})
	if format == JSON || format == YAML {
		return WriteRecords(w, format, list)
	}
	p := newPrinter(opts, now)
	if p.wide = format == Wide; p.wide {
		p.findings(list)
	} else {
		p.stated = true
		p.table(list, opts.Selection, screen)
	}
	p.counts(all)
	return p.flush(w)
}

// WriteExplanation writes findings in full, wrapped to the width. all are those that the
// others on the same subject are taken from.
func WriteExplanation(w io.Writer, list, all []audit.Record, now time.Time, opts Options) error {
	p := newPrinter(opts, now)
	short := ShortIDs(all)
	for i := range list {
		r := &list[i]
		p.line(span{shown(strings.ToUpper(r.Severity.String())), severityStyle(r.Severity)}, span{text: "  " + cut(show(r.Rule), p.width/2)})
		p.blank()
		p.finding(r)
		for j := range all {
			if o := &all[j]; o.ID != r.ID && sameSubject(o, r) && !slices.ContainsFunc(list, func(l audit.Record) bool { return l.ID == o.ID }) {
				p.text(2, span{}, "See also "+show(o.Subject.String())+": "+p.program+" explain "+show(short[j]))
				p.blank()
			}
		}
	}
	return p.flush(w)
}

func (p *printer) flush(w io.Writer) error {
	if _, err := io.WriteString(w, p.buf.String()); err != nil {
		return fmt.Errorf("write findings: %w", err)
	}
	return nil
}

// counts writes how many of the findings are still there, and whose they are.
func (p *printer) counts(list []audit.Record) {
	open := slices.DeleteFunc(slices.Clone(list), func(r audit.Record) bool { return r.State == audit.StateResolved })
	what := count(len(open), "finding")
	if s := severities(open); s != "" {
		what += " (" + s + ")"
	}
	if age := p.oldest(open); age != "" {
		what += ", the oldest for " + age
	}
	if n := len(list) - len(open); n > 0 {
		what += "; " + number(n) + " resolved, excepted or retired"
	}
	p.text(0, span{"SUMMARY  ", bold}, what)
	p.totals(list, p.selection)
}
