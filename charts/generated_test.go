package charts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/hostsource"
	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// known is what the chart knows of the kinds that are read.
type known struct {
	Always      []snapshot.Kind            `json:"always"`
	HostSources []snapshot.Kind            `json:"hostSources"`
	Only        map[snapshot.Kind][]string `json:"only"`
	Rules       map[string]read            `json:"rules"`
}

// read is what one rule reads.
type read struct {
	HostSources bool            `json:"hostSources"`
	Kinds       []snapshot.Kind `json:"kinds"`
}

const kindsHeader = `# What each rule reads, written by make generate. The ClusterRole is made of it.
# Of the kinds under only, no other objects are read than those of the names.
`

func TestGeneratedKinds(t *testing.T) {
	k := known{Always: audit.Needs(nil), Only: map[snapshot.Kind][]string{}, Rules: map[string]read{}}
	for _, s := range hostsource.BuiltIn() {
		k.HostSources = append(k.HostSources, s.Kind)
	}
	slices.Sort(k.HostSources)
	for _, c := range ingest.Customs() {
		for _, name := range c.Only {
			if !slices.Contains(k.Only[c.Kind], name.Name) {
				k.Only[c.Kind] = append(k.Only[c.Kind], name.Name)
			}
		}
	}
	for _, r := range catalog.All() {
		kinds := audit.Needs([]*rules.Rule{r})
		k.Rules[r.Name] = read{
			HostSources: slices.Contains(kinds, snapshot.HostSources),
			Kinds:       slices.DeleteFunc(kinds, func(k snapshot.Kind) bool { return k == snapshot.HostSources }),
		}
	}
	text, err := yaml.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	compareGenerated(t, "kinds.yaml", kindsHeader+string(text))
}

func TestGeneratedDefinition(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(moduleRoot, "audit", "api", "v1alpha1", "eventuallytrue.dev_findings.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	compareGenerated(t, "findings.yaml", strings.TrimPrefix(string(text), "---\n"))
}

// compareGenerated compares a file of the chart with what it must be.
func compareGenerated(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(chart, "files", name)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is stale: run make generate (-want +got):\n%s", path, diff)
	}
}
