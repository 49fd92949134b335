package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/notify/report"
)

// hostMistakes holds the contested hosts and their claimants, all of them,
// against those of a case.
func hostMistakes(t *testing.T, c testCase, r *report.Report) []string {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for _, line := range c.expect {
		switch word, rest := expectation(line); word {
		case "finding":
			host, objects := claimants(rest)
			want[host] = strings.Join(objects, ", ")
		case "clean", "advisory":
		default:
			t.Fatalf("nobody understands: expect: %s", line)
		}
	}
	for _, f := range r.Findings {
		if f.Rule == "one-owner-per-host" {
			got[f.Subject.Name] = strings.Join(refs(f.Objects), ", ")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return []string{"claimants by contested host (-want +got):\n" + diff}
	}
	return nil
}
