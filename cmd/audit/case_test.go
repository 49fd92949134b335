package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testCase is one file of testdata/cases: a small cluster, and in the comments
// at its head what is right to say of it. The README there has the language.
type testCase struct {
	path, name, kind string
	expect           []string // what follows "# expect: ", in order
}

var caseHeader = regexp.MustCompile(`^# (case|title|kind|note|expect): (.+)$`)

// readCases reads the heads of all cases, sorted by path.
func readCases(t *testing.T) []testCase {
	t.Helper()
	paths, err := filepath.Glob(moduleRoot + "/testdata/cases/*/*.yaml")
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
			t.Fatalf("%s: a header that nobody understands: %s", path, line)
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

// claimants splits "HOST <- Kind ns/name, Kind ns/name" and sorts what stands
// behind the arrow.
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
