package rulestest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules"
)

// fixtureFolder holds the folders of fixtures, from the root of the module.
const fixtureFolder = "testdata/rules"

// moduleRoot returns the nearest folder above the working folder that holds a
// go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find module root: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("find module root: no go.mod above the working folder")
		}
		dir = parent
	}
}

// loadFixtures reads the fixtures of a rule, sorted by name. A file that is no
// fixture is an error, since a fixture with a misspelt ending tests nothing.
func loadFixtures(dir string, rule *rules.Rule) ([]*fixture, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read fixtures of %s: %w", rule.Name, err)
	}
	var fixtures []*fixture
	var errs []error
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), ".yaml")
		if !ok || entry.IsDir() {
			errs = append(errs, fmt.Errorf("read fixtures of %s: %s is no .yaml file", rule.Name, entry.Name()))
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			errs = append(errs, fmt.Errorf("read fixtures of %s: %w", rule.Name, err))
			continue
		}
		f, err := parseFixture(name, string(text), rule)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		fixtures = append(fixtures, f)
	}
	return fixtures, errors.Join(errs...)
}

// fixtureFolders returns the names of the folders that hold fixtures.
func fixtureFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list folders of fixtures: %w", err)
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, nil
}

// checkCatalogue returns what is wrong with a set of rules and the folders of
// their fixtures.
func checkCatalogue(set []*rules.Rule, folders []string) []error {
	var errs []error
	if err := rules.Validate(set); err != nil {
		errs = append(errs, err)
	}
	var names []string
	for _, r := range set {
		names = append(names, r.Name)
		if !slices.Contains(folders, r.Name) {
			errs = append(errs, fmt.Errorf("rule %s has no folder in %s", r.Name, fixtureFolder))
		}
	}
	if !slices.IsSorted(names) {
		errs = append(errs, fmt.Errorf("rules are not sorted by name: %s", strings.Join(names, ", ")))
	}
	for _, folder := range folders {
		if !slices.Contains(names, folder) {
			errs = append(errs, fmt.Errorf("%s/%s belongs to no rule", fixtureFolder, folder))
		}
	}
	return errs
}
