package rulestest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/rules"
)

func TestParseHeaderReadsEveryWord(t *testing.T) {
	got, err := parseHeader([]string{
		"# title: All words in one header.",
		"# config: owners:",
		"# config:   fallback: platform",
		"# config:",
		"# finding: * (class nginx) is contested <- Ingress b/x,  Ingress a/x",
		"# severity: high",
		"# owners: b, a",
		"# says: one thing",
		"# says: and another",
		"# finding: a (Ingress) is missing <- Namespace a",
		"# advisory: a: something",
		"# isolation: open=both ns=a ingress=present egress=missing scope=all exempt=yes",
		"# exposed: a  Pod/x both allow-all",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := header{
		title:  "All words in one header.",
		config: []string{"owners:", "  fallback: platform", ""},
		findings: []wantFinding{
			{
				line: "* (class nginx) is contested <- Ingress a/x, Ingress b/x", severity: "high", owners: "a, b",
				says: []string{"one thing", "and another"},
			},
			{line: "a (Ingress) is missing <- Namespace a"},
		},
		advisories: []string{"a: something"},
		isolation:  []string{"ns=a ingress=present egress=missing open=both scope=all exempt=yes"},
		exposed:    []string{"a Pod/x both allow-all"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(header{}, wantFinding{})); diff != "" {
		t.Errorf("parseHeader (-want +got):\n%s", diff)
	}
}

func TestParseFixtureRefuses(t *testing.T) {
	for _, c := range []struct{ name, from, to, want string }{
		{"an unknown word", "# owners:", "# owner:", "line 4: owner: unknown word"},
		{"a line that is not a header line", "# owners:", "#owners:", "line 4: \"#owners: team-a\" is not a header line"},
		{"a fixture without a title", "# title: A pod called bad is a finding.\n", "", "no title"},
		{"a second title", "# severity", "# title: Another.\n# severity", "duplicate title"},
		{"a word without text", "# owners: team-a", "# owners:", `owners: unexpected text ""`},
		{"clean with text", "# severity", "# clean: yes\n# severity", `clean: unexpected text "yes"`},
		{"both finding and clean", "# severity", "# clean\n# severity", "both a finding and clean"},
		{"a severity above every finding", "# finding", "# severity: high\n# finding", "no finding above it"},
		{"a second severity", "# severity", "# severity: low\n# severity", "duplicate for the same finding"},
		{"a finding without objects", " <- Pod shop/bad", "", "is not \"subject is verdict <- objects\""},
		{"an exposed line without a reason", " no-policy", "", "is not \"namespace Kind/name direction reason\""},
		{"an isolation row without a direction", " egress=missing", "", "isolation: no egress"},
		{"an isolation row with an unknown key", "egress=", "outward=", `unknown key "outward"`},
		{"an isolation row with a key twice", "egress=missing", "egress=missing ns=a", "ns is empty or duplicated"},
		{"a config with an unknown key", "# severity", "# config: nonsense: true\n# severity", "unknown key"},
		{"a header line among the manifests", "kind: Pod\n", "kind: Pod\n# clean\n", "is below the header"},
		{"a list", "kind: Pod\n", "kind: PodList\n", "manifest 2 is a list"},
		{"text that is not YAML", "kind: Pod\n", "kind: [Pod\n", "parse manifest 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(withFinding, c.from, c.to, 1)
			_, err := parseFixture("broken", text, podsNamed())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want %q in it", err, c.want)
			}
		})
	}
	for name, text := range map[string]string{
		"no manifests":      "# title: Nothing.\n# clean",
		"nothing but ---":   "# title: Nothing.\n# clean\n---\n",
		"neither sort said": "# title: Nothing.\n---\nkind: Pod\n",
	} {
		if _, err := parseFixture("broken", text, podsNamed()); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCatalogueMatchesRulesAndFolders(t *testing.T) {
	a, b := podsNamed(), podsNamed()
	a.Name, b.Name = "a", "b"
	for _, c := range []struct {
		name    string
		set     []*rules.Rule
		folders []string
		want    string // empty: nothing is wrong
	}{
		{"a folder for each rule", []*rules.Rule{a, b}, []string{"a", "b"}, ""},
		{"a rule without a folder", []*rules.Rule{a, b}, []string{"a"}, "rule b has no folder"},
		{"a folder without a rule", []*rules.Rule{a}, []string{"a", "b"}, "testdata/rules/b does not belong to a rule"},
		{"rules out of order", []*rules.Rule{b, a}, []string{"a", "b"}, "not sorted by name: b, a"},
		{"a rule twice", []*rules.Rule{a, a}, []string{"a"}, "name is used twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := checkCatalog(c.set, c.folders)
			if c.want == "" && len(errs) > 0 || c.want != "" && !says(errs, c.want) {
				t.Errorf("got %q, want %q", errs, c.want)
			}
		})
	}
}

func TestLoadFixturesRefusesStrayFiles(t *testing.T) {
	if _, err := loadFixtures(t.TempDir()+"/none", podsNamed()); err == nil {
		t.Error("no error for a folder that does not exist")
	}
	dir := t.TempDir()
	writeFile(t, dir+"/good.yaml", withFinding)
	writeFile(t, dir+"/stray.yml", withFinding)
	fixtures, err := loadFixtures(dir, podsNamed())
	if err == nil || !strings.Contains(err.Error(), "stray.yml is not a .yaml file") {
		t.Errorf("error is %v", err)
	}
	if len(fixtures) != 1 || fixtures[0].name != "good" {
		t.Errorf("fixtures are %v", fixtures)
	}
}
