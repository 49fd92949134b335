package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/notify/report"
)

// notJudgedYet are the cases that come out wrong because they need kinds which
// are not judged yet, by the kind of case. This list may only get shorter: a
// case in it that comes out right fails the test.
var notJudgedYet = map[string][]string{
	"gateway": {
		"h45-ingress-httproute-two-owners", "h46-httproutes-two-owners", "h49-httproute-wildcard-narrowed",
		"h55-listenersets-two-owners", "h58-httproute-refused-for-conflict",
	},
	"wildcard": {"h51-httproute-wildcard-multilabel"},
	"anp":      {"an-01-cnp-baseline-deny", "an-04-anp-banp-v1alpha1", "an-05-look-alike-clusternetworkpolicy"},
	"calico":   {"ca-02-types-defaulting-differs", "ca-04-block-list-patterns"},
	"cilium": {
		"ci-01-empty-rule-is-deny", "ci-02-empty-lists-are-inert", "ci-05-ccnp-default-deny-is-egress-only",
		"ci-06-deny-rules-only", "ci-08-nothing-selected-vs-ports-only", "ci-10-enforcement-mode-never",
	},
}

func TestCases(t *testing.T) {
	cases := readCases(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			mistakes := judgeCase(t, c)
			switch listed := slices.Contains(notJudgedYet[c.kind], c.name); {
			case listed && len(mistakes) == 0:
				t.Error("comes out right: take it out of notJudgedYet")
			case !listed && len(mistakes) > 0:
				t.Error(strings.Join(mistakes, "\n"))
			}
		})
	}
	for kind, names := range notJudgedYet {
		for _, name := range names {
			if !slices.ContainsFunc(cases, func(c testCase) bool { return c.name == name && c.kind == kind }) {
				t.Errorf("notJudgedYet has %s, of which there is no case of kind %s", name, kind)
			}
		}
	}
}

// judgeCase sweeps the manifests of a case and returns what is not as expected.
func judgeCase(t *testing.T, c testCase) []string {
	t.Helper()
	r := sweep(t, 0, "--from", c.path, "--fail-on", "none")
	mistakes := advisoryMistakes(c, r)
	if strings.Contains(c.path, "one-owner-per-host") {
		return append(mistakes, hostMistakes(t, c, r)...)
	}
	return append(mistakes, denyMistakes(t, c, r)...)
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
