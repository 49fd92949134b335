package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	namedPath = regexp.MustCompile("`([a-z]+(?:/[a-z.]+)+)`|\\]\\(([^)#:]+)\\)")
)

// TestSecurityPageNamesWhatThereIs: each defense on the page names the test that proves
// it.
func TestSecurityPageNamesWhatThereIs(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(moduleRoot, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	found := namedTest.FindAllStringSubmatch(string(data), -1)
	if len(found) < 30 {
		t.Errorf("only %d tests are named", len(found))
	}
	for _, m := range found {
		if !tests[m[1]] {
			t.Errorf("%s does not exist", m[1])
		}
	}
	for _, m := range namedPath.FindAllStringSubmatch(string(data), -1) {
		if _, err := os.Stat(filepath.Join(moduleRoot, m[1]+m[2])); err != nil {
			t.Errorf("a path on the page does not exist: %v", err)
		}
	}
}

// testNames returns the tests and fuzz targets of all modules.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir(moduleRoot, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(data), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
