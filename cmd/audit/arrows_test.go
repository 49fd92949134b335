package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/eventuallytrue/audit"

// arrows are the packages that each area may import. An area is a folder with all
// packages below it; the deepest one that is listed here counts.
var arrows = map[string][]string{
	"rules/snapshot":         {},
	"rules":                  {"rules/snapshot"},
	"rules/admission":        {"rules/snapshot"},
	"rules/workloads":        {"rules/snapshot"},
	"rules/hosts":            append(ruleArrows, "rules/hosts/expression"),
	"rules/hosts/expression": {},
	"rules/isolation":        append(ruleArrows, "rules/isolation/policy"),
	"rules/isolation/policy": {"rules", "rules/snapshot", "rules/workloads"},
	"rules/evaluable":        ruleArrows,
	"rules/ownership":        ruleArrows,
	"rules/replication":      ruleArrows,
	"rules/catalog":          {"rules", "rules/evaluable", "rules/hosts", "rules/isolation", "rules/ownership", "rules/replication"},
	"rules/rulestest": {
		"rules", "rules/catalog", "rules/snapshot", "audit", "audit/config", "audit/hostsource", "audit/ingest", "audit/manifests",
	},
	"audit":            {"audit/config", "rules", "rules/snapshot"},
	"audit/remedy":     {"audit", "audit/ingest", "rules", "rules/snapshot"},
	"audit/api":        {},
	"audit/hostsource": {"rules/hosts/expression", "rules/snapshot"},
	"audit/config":     {"audit/hostsource", "rules", "rules/snapshot"},
	"audit/ingest":     {"audit/ingest/budget", "audit/ingest/calico", "audit/ingest/cilium", "audit/hostsource", "rules/snapshot"},
	// How an object of an engine becomes a fact does not depend on the source.
	"audit/ingest/budget": {"rules/snapshot"},
	"audit/ingest/calico": {"rules/snapshot"},
	"audit/ingest/cilium": {"rules/snapshot"},
	"audit/manifests":     {"audit", "audit/hostsource", "audit/ingest", "audit/ingest/budget", "rules/snapshot"},
	// The packages that need an API server import the client, but not each other.
	"audit/kube":        {"rules/snapshot"},
	"audit/kube/source": {"audit", "audit/hostsource", "audit/ingest", "audit/ingest/budget", "audit/kube", "rules/snapshot"},
	"audit/kube/store":  {"audit", "audit/api/v1alpha1", "audit/kube", "rules", "rules/snapshot"},
	"audit/kube/lease":  {"audit/kube"},
	"audit/kube/events": {"audit", "audit/api/v1alpha1", "audit/ingest", "audit/kube", "rules/snapshot"},
	"e2e/kubetest":      {"e2e/kubetest"},
	"charts":            {},
	"notify":            {"notify", "notify/visible", "audit", "audit/config", "rules", "rules/snapshot"},
	"notify/visible":    {},
	"notify/slack":      {"notify", "notify/report", "notify/visible", "audit", "rules"},
	"notify/html":       {"audit", "notify/report", "notify/visible", "rules", "rules/snapshot"},
	"notify/webhook":    {"notify", "notify/report", "notify/visible", "audit"},
	"notify/metrics":    {"audit", "rules", "rules/snapshot"},
	// The fake Slack shares no code with what it checks.
	"notify/slack/fakeslack": {"notify/slack/fakeslack"},
	"e2e/bench": {
		"audit", "audit/config", "audit/kube/source", "e2e/bench/estate", "e2e/kubetest", "rules/catalog", "rules/snapshot",
	},
	// Tests use the parts of a node as well.
	"e2e/node": {"e2e/kubetest"},
	// The tests use the installed program only from outside.
	"e2e":             {},
	"cmd/audit/serve": {"audit", "audit/kube", "audit/kube/lease", "notify/metrics"},
	"cmd": {
		"cmd/audit/serve", "audit", "audit/config", "audit/ingest/budget", "audit/kube",
		"audit/kube/events", "audit/kube/lease", "audit/kube/source", "audit/kube/store", "audit/manifests", "audit/remedy", "notify", "notify/html", "notify/metrics", "notify/report", "notify/slack", "notify/webhook",
		"rules", "rules/catalog", "rules/snapshot",
	},
}

// ruleArrows are what a rule's package may import: no rule imports another.
var ruleArrows = []string{"rules", "rules/admission", "rules/snapshot", "rules/workloads"}

// pure are the areas that import, besides the standard library, nothing but this from
// other modules.
var pure = map[string][]string{
	"rules/snapshot":         {},
	"notify/visible":         {},
	"rules":                  {},
	"rules/hosts":            {"golang.org/x/net/idna"},
	"rules/hosts/expression": {},
	"rules/admission":        {},
	"rules/workloads":        {},
	"rules/isolation":        {},
	"rules/isolation/policy": {},
	"rules/evaluable":        {},
	"rules/ownership":        {},
	"rules/replication":      {},
	"rules/catalog":          {},
	"audit":                  {"golang.org/x/sync/errgroup"},
	"audit/config":           {"gopkg.in/yaml.v3", "k8s.io/apimachinery/pkg/util/validation"},
}

// onlyTests are packages that only tests may import, with the commands that may import
// them as well.
var onlyTests = map[string][]string{
	"rules/rulestest":        {},
	"e2e/kubetest":           {"e2e/node", "e2e/kubetest/withcluster", "e2e/bench"},
	"e2e/bench/estate":       {"e2e/bench"},
	"notify/slack/fakeslack": {"notify/slack/fakeslack/fakeslackd"},
	"e2e/memapi":             {},
	"e2e/promtest":           {},
	"e2e/node":               {},
}

// clients are modules that only the areas that talk to an API server may depend on,
// directly or indirectly.
var (
	clients     = []string{"k8s.io/client-go", "k8s.io/cli-runtime"}
	clientAreas = []string{"cmd", "audit/kube", "e2e"}
)

func TestArrows(t *testing.T) {
	for _, p := range listPackages(t) {
		area, ok := areaOf(p.name())
		if !ok {
			t.Errorf("package %s is in no area of the test", p.name())
			continue
		}
		for _, imported := range p.Imports {
			if !allowed(area, imported) {
				t.Errorf("%s imports %s, which its area %s may not", p.name(), imported, area)
			}
		}
	}
}

func TestOnlyTestsImportTestPackages(t *testing.T) {
	for _, p := range listPackages(t) {
		for tested, exceptions := range onlyTests {
			if slices.Contains(p.Imports, modulePath+"/"+tested) && !slices.Contains(exceptions, p.name()) {
				t.Errorf("%s imports %s, which is for tests", p.name(), tested)
			}
		}
	}
}

func TestFewDependOnAClient(t *testing.T) {
	for _, p := range listPackages(t) {
		if area, _ := areaOf(p.name()); slices.ContainsFunc(clientAreas, func(a string) bool { return within(area, a) }) {
			continue
		}
		for _, dep := range p.Deps {
			if slices.ContainsFunc(clients, func(c string) bool { return within(dep, c) }) {
				t.Errorf("%s depends on %s", p.name(), dep)
				break
			}
		}
	}
}

// listed is a package as go list describes it, without its tests.
type listed struct {
	ImportPath, Name string
	Imports, Deps    []string
}

// name is the path of the package within the module.
func (p listed) name() string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/"), ".")
}

// listPackages returns the packages of the module.
func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Imports,Deps", "./...")
	cmd.Dir = moduleRoot
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if len(packages) < len(arrows)/2 {
		t.Fatalf("go list found %d packages only", len(packages))
	}
	return packages
}

// areaOf returns the deepest area that a package is in.
func areaOf(name string) (string, bool) {
	area := ""
	for _, a := range slices.Sorted(maps.Keys(arrows)) {
		if within(name, a) && len(a) > len(area) {
			area = a
		}
	}
	return area, area != ""
}

func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// allowed reports whether an area may import a package.
func allowed(area, imported string) bool {
	if own, ok := strings.CutPrefix(imported, modulePath+"/"); ok {
		return slices.Contains(arrows[area], own)
	}
	domain, _, _ := strings.Cut(imported, "/")
	outside, strict := pure[area]
	return !strict || !strings.Contains(domain, ".") || slices.Contains(outside, imported)
}
