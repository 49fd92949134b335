package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

func TestWriteJSONRoundTrip(t *testing.T) {
	for _, res := range []*audit.Result{cleanResult(), brokenResult(), incompleteResult()} {
		var got Report
		if err := json.Unmarshal([]byte(write(t, JSON, res, Options{})), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fromResult(res), &got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestWriteYAMLEqualsJSON(t *testing.T) {
	for _, res := range []*audit.Result{cleanResult(), brokenResult(), incompleteResult(), hostileResult()} {
		sameDocument(t, res)
	}
}

// sameDocument fails the test unless YAML and JSON of the result are harmless and equal.
func sameDocument(t *testing.T, res *audit.Result) {
	t.Helper()
	inJSON, inYAML := write(t, JSON, res, Options{}), write(t, YAML, res, Options{})
	harmless(t, inJSON)
	harmless(t, inYAML)
	var a, b any
	if err := json.Unmarshal([]byte(inJSON), &a); err != nil {
		t.Fatalf("read JSON: %v", err)
	}
	if err := yaml.UnmarshalStrict([]byte(inYAML), &b); err != nil {
		t.Fatalf("read YAML: %v", err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("(-JSON +YAML)\n%s", diff)
	}
}

func TestWriteJSONKeepsStrings(t *testing.T) {
	for _, name := range append(hostile(), `C:\x01u;`, `\\x01;`, "\x01202e;\u202e", `"`, "a: b # c", "yes", "- 1\n- 2\n") {
		res := &audit.Result{Cluster: name}
		sameDocument(t, res)
		var got Report
		if err := yaml.Unmarshal([]byte(write(t, YAML, res, Options{})), &got); err != nil {
			t.Fatal(err)
		}
		// Neither format can express invalid UTF-8.
		if want := string([]rune(name)); got.Cluster != want {
			t.Errorf("%q became %q", want, got.Cluster)
		}
	}
}

func TestWriteJSONHasNoNull(t *testing.T) {
	bare := &audit.Result{
		Findings:   []audit.Finding{{}},
		Advisories: []audit.Advisory{{}},
		Isolation:  []rules.Isolation{{}},
	}
	for _, res := range []*audit.Result{{}, bare} {
		if out := write(t, JSON, res, Options{}); strings.Contains(out, "null") {
			t.Errorf("null in\n%s", out)
		}
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(write(t, JSON, &audit.Result{}, Options{})), &doc); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"advisories", "apiVersion", "complete", "failures", "faults", "findings", "ignored", "isolation", "kind", "kinds", "problems", "rules",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(doc))); diff != "" {
		t.Errorf("fields of an empty report (-want +got)\n%s", diff)
	}
}
