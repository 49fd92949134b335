package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/notify/report"
)

// disputed are the cases whose expectation seems wrong, by name, each with the
// argument. A case in it that comes out as expected fails the test.
var disputed = map[string]string{}

func TestCases(t *testing.T) {
	cases := readCases(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mistakes := judgeCase(t, c)
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
			t.Errorf("there is no case %s to dispute", name)
		}
	}
}

// judgeCase sweeps the manifests of a case and returns what is not as expected.
func judgeCase(t *testing.T, c testCase) []string {
	t.Helper()
	return mistakes(t, c, sweep(t, 0, "--from", c.path, "--fail-on", "none"))
}

// mistakes returns what a report says of a case that is not as expected.
func mistakes(t *testing.T, c testCase, r *report.Report) []string {
	t.Helper()
	found := advisoryMistakes(c, r)
	if strings.Contains(c.path, "one-owner-per-host") {
		return append(found, hostMistakes(t, c, r)...)
	}
	return append(found, denyMistakes(t, c, r)...)
}

// advisoryMistakes holds an expected advisory loosely against those there are:
// one must name its hosts and rest on its claimants.
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
