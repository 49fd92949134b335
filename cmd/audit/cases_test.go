package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/notify/report"
)

// disputed are the cases whose expectation seems wrong, by name, each with the
// argument. A case in it that comes out as expected fails the test.
var disputed = map[string]string{}

func TestCases(t *testing.T) {
	cases := readCases(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mistakes := evaluateCase(t, c)
			switch argument, listed := disputed[c.name]; {
			case listed && len(mistakes) == 0:
				t.Errorf("comes out as expected, though it is disputed: %s", argument)
			case !listed && len(mistakes) > 0:
				t.Error(strings.Join(mistakes, "\n"))
			}
		})
	}
	for name := range disputed {
		if !slices.ContainsFunc(cases, func(c testCase) bool { return c.name == name }) {
			t.Errorf("disputed case %s does not exist", name)
		}
	}
}

// evaluateCase sweeps the manifests of a case and returns the differences from what is expected.
func evaluateCase(t *testing.T, c testCase) []string {
	t.Helper()
	return mistakes(t, c, sweep(t, 0, "--from", c.path, "--fail-on", "none"))
}

// mistakes returns how a report differs from what a case expects.
func mistakes(t *testing.T, c testCase, r *report.Report) []string {
	t.Helper()
	found := advisoryMistakes(c, r)
	if strings.Contains(c.path, "one-owner-per-host") {
		return append(found, hostMistakes(t, c, r)...)
	}
	return append(found, denyMistakes(t, c, r)...)
}

// advisoryMistakes compares an expected advisory with the actual ones: one of them must
// name its hosts and have its claimants as objects.
func advisoryMistakes(c testCase, r *report.Report) []string {
	var mistakes []string
	for _, line := range c.expect {
		word, rest := expectation(line)
		if word != "advisory" {
			continue
		}
		text, objects := claimants(rest)
		found := slices.ContainsFunc(r.Advisories, func(a report.Advisory) bool {
			return namesHosts(a, text) && !slices.ContainsFunc(objects, func(o string) bool {
				return !slices.Contains(refs(a.Objects), o)
			})
		})
		if !found {
			mistakes = append(mistakes, "no such advisory: "+rest)
		}
	}
	return mistakes
}

// namesHosts reports whether an advisory names every word of a text that has a
// dot in it.
func namesHosts(a report.Advisory, text string) bool {
	said := strings.Fields(a.Subject.Name + " " + a.Message)
	return !slices.ContainsFunc(strings.Fields(text), func(word string) bool {
		return strings.Contains(word, ".") && !slices.Contains(said, word)
	})
}

// refs returns the objects as cases write them, sorted.
func refs(objects []report.Object) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Kind+" "+o.Namespace+"/"+o.Name)
	}
	slices.Sort(out)
	return out
}

// testCase is one file of testdata/cases: a small cluster, and in the comments
// at its head what a sweep of it must report. The README there explains the format.
type testCase struct {
	path, name, kind string
	expect           []string // what follows "# expect: ", in order
}

var caseHeader = regexp.MustCompile(`^# (case|title|kind|note|expect): (.+)$`)

// readCases reads the heads of all cases, sorted by path.
func readCases(t *testing.T) []testCase {
	t.Helper()
	// reported has a format of its own.
	paths, err := filepath.Glob(moduleRoot + "/testdata/cases/[do]*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var cases []testCase
	for _, path := range paths {
		cases = append(cases, readCase(t, path))
	}
	return cases
}

func readCase(t *testing.T, path string) testCase {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := testCase{path: path, name: strings.TrimSuffix(filepath.Base(path), ".yaml")}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		found := caseHeader.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case found == nil:
			t.Fatalf("%s: unknown header: %s", path, line)
		case found[1] == "kind":
			c.kind = found[2]
		case found[1] == "expect":
			c.expect = append(c.expect, found[2])
		}
	}
	if c.kind == "" || len(c.expect) == 0 {
		t.Fatalf("%s: no kind or no expectation", path)
	}
	return c
}

// expectation splits what is expected into its first word and the rest.
func expectation(line string) (word, rest string) {
	word, rest, _ = strings.Cut(line, " ")
	return word, rest
}

// claimants splits "HOST <- Kind ns/name, Kind ns/name" and sorts the objects
// after the arrow.
func claimants(text string) (host string, objects []string) {
	host, list, _ := strings.Cut(text, " <- ")
	objects = strings.Split(list, ", ")
	slices.Sort(objects)
	return host, objects
}

// pairs reads "key=value key=value".
func pairs(text string) map[string]string {
	m := map[string]string{}
	for _, field := range strings.Fields(text) {
		key, value, _ := strings.Cut(field, "=")
		m[key] = value
	}
	return m
}

// denial is the effect of the policies of a namespace, in the words of the report. Scope
// is empty where a case does not mention it.
type denial struct{ Ingress, Egress, Open, Scope string }

// exposure is a workload that is open in one direction.
type exposure struct{ Namespace, Workload, Direction, Reason string }

// denyMistakes compares the isolation of the namespaces that a case names, and all
// exposed workloads, with what the case expects.
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
			t.Fatalf("unknown expectation: %s", line)
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
			t.Fatalf("unknown value: %s=%s", key, expected[key])
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

// hostMistakes compares all contested hosts and their claimants with those of a case.
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
			t.Fatalf("unknown expectation: %s", line)
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
