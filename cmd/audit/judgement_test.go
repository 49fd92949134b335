package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
)

// judgement is what a report says of one subject, less what two sweeps of the
// same manifests may differ in: times, and the text that tells them. Of an
// advisory verdict and severity are empty.
type judgement struct {
	Rule, Subject, Verdict, Severity, Owners string
	Objects                                  []string // each with its reason, sorted
}

func findings(r *report.Report) []judgement {
	var out []judgement
	for _, f := range r.Findings {
		out = append(out, judgement{
			f.Rule, subject(f.Subject), f.Verdict, f.Severity, strings.Join(f.Owners, ", "), parts(f.Objects),
		})
	}
	return sorted(out)
}

func advisories(r *report.Report) []judgement {
	var out []judgement
	for _, a := range r.Advisories {
		out = append(out, judgement{
			Rule: a.Rule, Subject: subject(a.Subject), Owners: strings.Join(a.Owners, ", "), Objects: parts(a.Objects),
		})
	}
	return sorted(out)
}

func sorted(list []judgement) []judgement {
	slices.SortFunc(list, func(a, b judgement) int {
		return cmp.Or(strings.Compare(a.Rule, b.Rule), strings.Compare(a.Subject, b.Subject))
	})
	return list
}

func subject(s report.Subject) string { return s.Kind + " " + rules.Subject(s).String() }

func parts(objects []report.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, fmt.Sprintf("%s %s/%s %s", o.Kind, o.Namespace, o.Name, o.Reason))
	}
	slices.Sort(out)
	return out
}

// isolation returns a line for each namespace, as estateIsolation has them.
func isolation(r *report.Report) []string {
	var out []string
	for _, i := range r.Isolation {
		line := fmt.Sprint(i.Namespace, " ", i.Workloads, " ", i.Ingress, " ", i.Egress, " ", i.Open)
		if i.Scope != "" {
			line += " " + i.Scope
		}
		if i.Exempt {
			line += " exempt"
		}
		out = append(out, line)
	}
	return out
}
