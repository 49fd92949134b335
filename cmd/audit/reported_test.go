package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/notify/report"
)

// TestReportedCases compares whole reports with what inputs from public reports of
// faults must give. A case is a YAML file, or a folder with a case.txt. Its header
// has lines "# args: ..." and "# expect: WORD ...", which reportedCase explains.
func TestReportedCases(t *testing.T) {
	cases := readReported(t, "reported")
	if len(cases) < 40 {
		t.Fatalf("%d cases", len(cases))
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, mistake := range c.mistakes(t, "--from", c.path) {
				t.Error(mistake)
			}
		})
	}
}

// TestHostileCases does the same for what a tenant may write in order to hide.
func TestHostileCases(t *testing.T) {
	for name, c := range readReported(t, "hostile") {
		t.Run(name, func(t *testing.T) {
			if mistakes := c.mistakes(t, "--from", c.path); len(mistakes) > 0 {
				t.Error(strings.Join(mistakes, "\n"))
			}
		})
	}
}

// readReported reads the cases of a folder, by name.
func readReported(t *testing.T, folder string) map[string]reportedCase {
	t.Helper()
	root := moduleRoot + "/testdata/cases/" + folder
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d cases: %v", len(entries), err)
	}
	cases := map[string]reportedCase{}
	for _, entry := range entries {
		path := filepath.Join(root, entry.Name())
		header := path
		if entry.IsDir() {
			header = filepath.Join(path, "case.txt")
		}
		data, err := os.ReadFile(header)
		if err != nil {
			t.Fatal(err)
		}
		c := reportedCase{path: path}
		for line := range strings.Lines(string(data)) {
			if args, ok := strings.CutPrefix(line, "# args: "); ok {
				c.args = append(c.args, strings.Fields(args)...)
			}
			if expect, ok := strings.CutPrefix(line, "# expect: "); ok {
				c.expect = append(c.expect, strings.TrimSpace(expect))
			}
		}
		if len(c.expect) == 0 {
			t.Fatalf("%s expects nothing", path)
		}
		cases[strings.TrimSuffix(entry.Name(), ".yaml")] = c
	}
	return cases
}

// reportedCase is an input with what its report must hold:
//
//	findings RULE: SUBJECT, ...      all findings of the rule, or "none"
//	claimants HOST <- OBJECT, ...    all objects of the finding on the host
//	exit N, complete true|false
//	row ns=NS FIELD=VALUE ...        fields of the namespace's row of the isolation
//	exposed ns=NS OBJECT DIRECTION   all exposed workloads of the namespace, or "none"
//	evaluated NS, not-evaluated NS
//	says TEXT                        in what is printed, or in the report
//
// In a subject "..." stands for any text, and one that ends in "?" may be missing.
type reportedCase struct {
	path         string
	args, expect []string
}

// mistakes returns how the report of a sweep differs from what the case expects. source are
// the arguments that say what is swept.
func (c reportedCase) mistakes(t *testing.T, source ...string) []string {
	t.Helper()
	args := append(append([]string{"--once", "--fail-on", "none"}, source...), c.args...)
	got := execute(append(args, "-o", "json")...)
	r := decode(t, got.stdout)
	var bad []string
	failed := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	exposed := map[string][]string{}
	for _, line := range c.expect {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "findings":
			rule, want, _ := strings.Cut(rest, ": ")
			if mistake := findingMistake(r, rule, splitSubjects(want)); mistake != "" {
				failed("%s: %s", rule, mistake)
			}
		case "claimants":
			host, want, _ := strings.Cut(rest, " <- ")
			var objects [][]string
			for _, f := range r.Findings {
				if f.Rule == "one-owner-per-host" && matchesSubject(host, f.Subject) {
					objects = append(objects, refs(f.Objects))
				}
			}
			if w := slices.Sorted(slices.Values(splitSubjects(want))); len(objects) != 1 || !slices.Equal(objects[0], w) {
				failed("claimants of %s: got %v, want %v", host, objects, w)
			}
		case "exit":
			if rest != fmt.Sprint(got.code) {
				failed("exit %d, want %s", got.code, rest)
			}
		case "complete":
			if rest != fmt.Sprint(r.Complete) {
				failed("complete is %t", r.Complete)
			}
		case "row":
			bad = append(bad, rowMistakes(r, strings.Fields(rest))...)
		case "exposed":
			fields := strings.Fields(rest)
			ns := strings.TrimPrefix(fields[0], "ns=")
			exposed[ns] = append(exposed[ns], "")
			if fields[1] != "none" {
				exposed[ns] = append(exposed[ns], eachDirection(fields[1], fields[2])...)
			}
		case "evaluated", "not-evaluated":
			row := isolationOf(r, rest)
			if row == nil || (len(row.NotEvaluated) > 0) != (word == "not-evaluated") {
				failed("%s is not %s", rest, word)
			}
		case "says":
			printed := execute(append(args, "-o", "table")...)
			text := strings.Fields(strings.ToLower(printed.stdout + " " + printed.stderr + " " + spoken(t, r)))
			if want := strings.Fields(strings.ToLower(rest)); !strings.Contains(strings.Join(text, " "), strings.Join(want, " ")) {
				failed("does not say %q", rest)
			}
		default:
			failed("unknown expectation %q", word)
		}
	}
	for ns, want := range exposed {
		var have []string
		row := isolationOf(r, ns)
		if row == nil {
			failed("no row for %s", ns)
			continue
		}
		for _, e := range row.Exposed {
			have = append(have, eachDirection(e.Kind+"/"+e.Name, e.Direction)...)
		}
		want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(want, have) {
			failed("exposed in %s: got %v, want %v", ns, have, want)
		}
	}
	return bad
}

// findingMistake says how the findings of a rule differ from the wanted subjects.
func findingMistake(r *report.Report, rule string, want []string) string {
	var got []report.Subject
	for _, f := range r.Findings {
		if f.Rule == rule {
			got = append(got, f.Subject)
		}
	}
	for _, w := range want {
		pattern, optional := strings.CutSuffix(w, "?")
		if !optional && !slices.ContainsFunc(got, func(s report.Subject) bool { return matchesSubject(pattern, s) }) {
			return fmt.Sprintf("no finding on %s, but on %v", w, got)
		}
	}
	for _, s := range got {
		if !slices.ContainsFunc(want, func(w string) bool { return matchesSubject(strings.TrimSuffix(w, "?"), s) }) {
			return fmt.Sprintf("a finding on %v", s)
		}
	}
	return ""
}

// matchesSubject reports whether a subject, written "name (detail)", fits a pattern.
func matchesSubject(pattern string, s report.Subject) bool {
	text := s.Name
	if s.Detail != "" {
		text += " (" + s.Detail + ")"
	}
	parts := strings.Split(strings.TrimSpace(pattern), "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$").MatchString(text)
}

// outsideParentheses are the commas between subjects.
var outsideParentheses = regexp.MustCompile(`(?:[^,(]|\([^)]*\))+`)

func splitSubjects(text string) []string {
	if text == "none" {
		return nil
	}
	var out []string
	for _, s := range outsideParentheses.FindAllString(text, -1) {
		out = append(out, strings.TrimSpace(s))
	}
	return out
}

func eachDirection(object, direction string) []string {
	if direction == "both" {
		return []string{object + " egress", object + " ingress"}
	}
	return []string{object + " " + direction}
}

func isolationOf(r *report.Report, namespace string) *report.IsolationRead {
	for i := range r.Isolation {
		if r.Isolation[i].Namespace == namespace {
			return &r.Isolation[i]
		}
	}
	return nil
}

func rowMistakes(r *report.Report, fields []string) []string {
	row := isolationOf(r, strings.TrimPrefix(fields[0], "ns="))
	if row == nil {
		return []string{"no row for " + fields[0]}
	}
	scope := row.Scope
	if scope == "" {
		scope = "None"
	}
	have := map[string]string{
		"workloads": fmt.Sprint(row.Workloads), "ingress": row.Ingress, "egress": row.Egress, "open": row.Open, "scope": scope,
	}
	var bad []string
	for _, field := range fields[1:] {
		if name, want, _ := strings.Cut(field, "="); have[name] != want {
			bad = append(bad, fmt.Sprintf("%s: %s=%s, want %s", fields[0], name, have[name], want))
		}
	}
	return bad
}

// spoken is the text of a report without the rows of what was read.
func spoken(t *testing.T, r *report.Report) string {
	t.Helper()
	text, err := json.Marshal([]any{r.Findings, r.Advisories, r.Problems, r.Failures})
	if err != nil {
		t.Fatal(err)
	}
	var names strings.Builder
	for _, f := range r.Findings {
		names.WriteString(strings.Join(refs(f.Objects), " ") + " ")
	}
	for _, a := range r.Advisories {
		names.WriteString(strings.Join(refs(a.Objects), " ") + " ")
	}
	return string(text) + " " + names.String()
}
