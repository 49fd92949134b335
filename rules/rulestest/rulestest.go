// Package rulestest is the test harness for rules.
//
// A rule has a folder of fixtures, testdata/rules/<name>/*.yaml. A fixture is a
// header of comment lines, followed by the plain manifests of a small cluster. The
// header says what the rule must find in them, and a rule that finds less or more
// fails:
//
//	# title: One sentence that says what the fixture is about.
//	# finding: shop.example.com is contested <- Ingress team-a/shop, Ingress team-b/shop
//	# severity: high
//	# owners: team-a, team-b
//	# says: late-edit
//	# advisory: *.example.com covers pay.example.com
//	# isolation: ns=team-a ingress=present egress=missing open=none
//	# exposed: team-a Deployment/web egress no-policy
//	# config: owners:
//	# config:   fallback: platform
//
// A finding names its subject, its verdict and all of its objects, in any order.
// Severity, owners and says belong to the finding above them and are optional; says
// is a part of the message, the cause or the remedy, and may be repeated. An
// advisory line is a part of the subject and message of exactly one advisory, and
// each advisory has a line. All rows of the isolation are listed, with scope=...
// and exempt=yes where they apply, and so are the exposed workloads. A fixture
// without a finding says "# clean".
//
// The harness also checks that a rule keeps the contract: it is valid and
// deterministic, does not change the snapshot, reads the kinds that it declares and
// no others, and copes with objects that lack any optional field.
package rulestest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/rules"
)

// Run tests a rule with its fixtures, each in a subtest of its name. The test may
// run in any package of the module.
func Run(t *testing.T, rule *rules.Rule) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	fixtures, err := loadFixtures(filepath.Join(root, fixtureFolder, rule.Name), rule)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range checkSet(rule, fixtures) {
		t.Error(err)
	}
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			for _, err := range checkFixture(rule, f) {
				t.Error(err)
			}
		})
	}
}

// Catalog tests the set of all rules: it is valid and sorted by name, and there is
// a folder of fixtures for each rule and a rule for each folder.
func Catalog(t *testing.T, set []*rules.Rule) {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	folders, err := fixtureFolders(filepath.Join(root, fixtureFolder))
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range checkCatalog(set, folders) {
		t.Error(err)
	}
}

// fixtureFolder contains the folders of fixtures, relative to the root of the module.
const fixtureFolder = "testdata/rules"

// moduleRoot returns the nearest folder above the working folder that contains a
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

// loadFixtures reads the fixtures of a rule, sorted by name. Any other file is an
// error, since a fixture with a misspelled extension would test nothing.
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
			errs = append(errs, fmt.Errorf("read fixtures of %s: %s is not a .yaml file", rule.Name, entry.Name()))
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

// fixtureFolders returns the names of the folders of fixtures.
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

// checkCatalog returns what is wrong with a set of rules and the folders of
// their fixtures.
func checkCatalog(set []*rules.Rule, folders []string) []error {
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
			errs = append(errs, fmt.Errorf("%s/%s does not belong to a rule", fixtureFolder, folder))
		}
	}
	return errs
}
