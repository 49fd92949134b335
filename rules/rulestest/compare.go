package rulestest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// findingLine formats the identity of a finding as a header spells it.
func findingLine(subject, verdict string, objects []string) string {
	objects = slices.Sorted(slices.Values(objects))
	return fmt.Sprintf("%s is %s <- %s", subject, verdict, strings.Join(objects, ", "))
}

func ownersLine(owners []string) string { return strings.Join(owners, ", ") }

// isolationLine formats the row of a namespace as a header spells it.
func isolationLine(i rules.Isolation) string {
	line := fmt.Sprintf("ns=%s ingress=%s egress=%s open=%s", i.Namespace, i.Ingress, i.Egress, i.Open)
	if i.Scope != "" {
		line += " scope=" + i.Scope
	}
	if i.Exempt {
		line += " exempt=yes"
	}
	return line
}

// exposedLines formats the exposed workloads of a namespace as a header spells
// them.
func exposedLines(i rules.Isolation) []string {
	var lines []string
	for _, e := range i.Exposed {
		lines = append(lines, fmt.Sprintf("%s %s/%s %s %s", i.Namespace, e.Kind, e.Name, e.Direction, e.Reason))
	}
	return lines
}

// compare returns how the evaluation differs from what the header says, as one
// error with a line for each difference.
func (h *header) compare(rule *rules.Rule, ev audit.Evaluation) error {
	diffs := h.compareFindings(ev.Findings)
	diffs = append(diffs, h.compareAdvisories(rule, ev.Advisories)...)
	var rows, exposed, unread []string
	for _, f := range ev.Faults {
		unread = append(unread, f.Ref.String())
	}
	diffs = append(diffs, diffLines("unread", h.unread, unread)...)
	for _, i := range ev.Isolation {
		rows = append(rows, isolationLine(i))
		exposed = append(exposed, exposedLines(i)...)
	}
	diffs = append(diffs, diffLines("isolation", h.isolation, rows)...)
	diffs = append(diffs, diffLines("exposed", h.exposed, exposed)...)
	if len(diffs) == 0 {
		return nil
	}
	return errors.New("the result differs from the header:\n  " + strings.Join(diffs, "\n  "))
}

func (h *header) compareFindings(got []audit.Finding) []string {
	byLine := map[string]audit.Finding{}
	var gotLines, wantLines []string
	for _, f := range got {
		var objects []string
		for _, o := range f.Objects {
			objects = append(objects, o.Ref.String())
		}
		line := findingLine(f.Subject.String(), f.Verdict, objects)
		byLine[line] = f
		gotLines = append(gotLines, line)
	}
	var diffs []string
	for _, w := range h.findings {
		wantLines = append(wantLines, w.line)
		if f, ok := byLine[w.line]; ok {
			diffs = append(diffs, w.compare(f)...)
		}
	}
	return append(diffLines("finding", wantLines, gotLines), diffs...)
}

// compare returns how a finding differs in what follows its line.
func (w *wantFinding) compare(f audit.Finding) []string {
	var diffs []string
	differ := func(format string, args ...any) {
		diffs = append(diffs, fmt.Sprintf("%s: ", f.Subject)+fmt.Sprintf(format, args...))
	}
	if w.severity != "" && w.severity != f.Severity.String() {
		differ("severity is %s, want %s", f.Severity, w.severity)
	}
	if got := ownersLine(f.Owners); w.owners != "" && w.owners != got {
		differ("owners are %s, want %s", got, w.owners)
	}
	for _, s := range w.says {
		if !strings.Contains(f.Message, s) && !strings.Contains(f.Cause, s) && !strings.Contains(f.Remedy, s) {
			differ("does not say %q:\n    message: %s\n    cause:   %s\n    remedy:  %s", s, f.Message, f.Cause, f.Remedy)
		}
	}
	return diffs
}

// compareAdvisories pairs the lines of the header with the rule's advisories.
func (h *header) compareAdvisories(rule *rules.Rule, got []audit.Advisory) []string {
	var diffs []string
	matched := make([]int, len(h.advisories))
	for _, a := range got {
		if a.Rule != rule.Name {
			continue
		}
		text := fmt.Sprintf("%s: %s", a.Subject, a.Message)
		lines := 0
		for i, part := range h.advisories {
			if strings.Contains(text, part) {
				matched[i]++
				lines++
			}
		}
		switch {
		case lines == 0:
			diffs = append(diffs, "unexpected advisory: "+text)
		case lines > 1:
			diffs = append(diffs, fmt.Sprintf("%d advisory lines match one advisory: %s", lines, text))
		}
	}
	for i, n := range matched {
		switch {
		case n == 0:
			diffs = append(diffs, "missing    advisory: "+h.advisories[i])
		case n > 1:
			diffs = append(diffs, fmt.Sprintf("an advisory line matches %d advisories: %s", n, h.advisories[i]))
		}
	}
	return diffs
}

// diffLines returns the wanted lines that are missing and the unexpected ones. A
// line that appears twice counts twice.
func diffLines(word string, want, got []string) []string {
	left := map[string]int{}
	for _, line := range got {
		left[line]++
	}
	var diffs []string
	for _, line := range want {
		if left[line]--; left[line] < 0 {
			diffs = append(diffs, fmt.Sprintf("missing    %s: %s", word, line))
			left[line] = 0
		}
	}
	for _, line := range got {
		if left[line] > 0 {
			diffs = append(diffs, fmt.Sprintf("unexpected %s: %s", word, line))
			left[line]--
		}
	}
	return diffs
}
