package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/report"
	"github.com/eventuallytrue/audit/rules"
)

// TestLongOwnerWidensNoOtherRow: an owner key of a Namespace may hold 256 KiB, and
// who lists findings still reads those of the others.
func TestLongOwnerWidensNoOtherRow(t *testing.T) {
	t.Parallel()
	var list []audit.Record
	for _, owner := range []string{"team-a", strings.Repeat("o", 5000)} {
		var s audit.Record
		s.Rule, s.Severity, s.State, s.Owners = "owner-known", rules.Low, audit.StateOpen, []string{owner}
		s.Subject = rules.Subject{Kind: "Namespace", Name: "shop"}
		list = append(list, s)
	}
	for _, format := range []report.Format{report.Table, report.Wide} {
		var out strings.Builder
		if err := report.WriteFindings(&out, format, list, today, report.Options{}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(line); n > 140 {
				t.Errorf("-o %v: a row of %d characters: %.80s…", format, n, line)
			}
		}
		if !strings.Contains(out.String(), "team-a") {
			t.Errorf("-o %v: nothing of team-a:\n%s", format, out.String())
		}
	}
}
