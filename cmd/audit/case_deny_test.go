package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/notify/report"
)

// denial is what the policies of a namespace amount to, in the words of the
// report. Scope is empty where a case says nothing of it.
type denial struct{ Ingress, Egress, Open, Scope string }

// exposure is a workload that is open in one direction.
type exposure struct{ Namespace, Workload, Direction, Reason string }

// denyMistakes holds the isolation of the namespaces that a case names, and all
// exposed workloads, against what the case expects.
func denyMistakes(t *testing.T, c testCase, r *report.Report) []string {
	t.Helper()
	rows, open := map[string]denial{}, map[exposure]bool{}
	for _, line := range c.expect {
		word, rest := expectation(line)
		expected := pairs(line)
		switch {
		case expected["ns"] != "" && word != "open":
			rows[expected["ns"]] = expectedDenial(t, expected)
		case word == "open":
			expected = pairs(rest)
			for _, d := range directions(expected["direction"]) {
				open[exposure{expected["ns"], expected["workload"], d, expected["reason"]}] = true
			}
		case word != "isolated":
			t.Fatalf("nobody understands: expect: %s", line)
		}
	}
	var mistakes []string
	if diff := cmp.Diff(rows, denials(r, rows)); diff != "" {
		mistakes = append(mistakes, "isolation (-want +got):\n"+diff)
	}
	if diff := cmp.Diff(open, exposures(r)); diff != "" {
		mistakes = append(mistakes, "exposed workloads (-want +got):\n"+diff)
	}
	return mistakes
}

func expectedDenial(t *testing.T, expected map[string]string) denial {
	t.Helper()
	inWords := func(key string, words map[string]string) string {
		word, ok := words[expected[key]]
		if !ok {
			t.Fatalf("nobody understands: %s=%s", key, expected[key])
		}
		return word
	}
	present := map[string]string{"yes": "present", "no": "missing", "partial": "partial"}
	openings := map[string]string{
		"no": "none", "ingress": "ingress", "egress": "egress", "both": "both", "partial": "partial",
	}
	return denial{
		Ingress: inWords("ingress-default-deny", present), Egress: inWords("egress-default-deny", present),
		Open: inWords("effectively-open", openings), Scope: expected["scope"],
	}
}

// denials returns the isolation of the wanted namespaces, and its scope where
// one is wanted.
func denials(r *report.Report, wanted map[string]denial) map[string]denial {
	got := map[string]denial{}
	for _, row := range r.Isolation {
		want, ok := wanted[row.Namespace]
		if !ok {
			continue
		}
		d := denial{Ingress: row.Ingress, Egress: row.Egress, Open: row.Open, Scope: row.Scope}
		if want.Scope == "" {
			d.Scope = ""
		}
		got[row.Namespace] = d
	}
	return got
}

func exposures(r *report.Report) map[exposure]bool {
	got := map[exposure]bool{}
	for _, row := range r.Isolation {
		for _, e := range row.Exposed {
			for _, d := range directions(e.Direction) {
				got[exposure{row.Namespace, e.Kind + "/" + e.Name, d, e.Reason}] = true
			}
		}
	}
	return got
}

func directions(word string) []string {
	if word == "both" {
		return []string{"ingress", "egress"}
	}
	return []string{word}
}
