package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

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
		if diff := cmp.Diff(From(res), &got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestWriteYAMLSaysWhatJSONSays(t *testing.T) {
	for _, res := range []*audit.Result{cleanResult(), brokenResult(), incompleteResult(), hostileResult()} {
		sameDocument(t, res)
	}
}

// sameDocument fails the test unless YAML and JSON of the result are harmless
// and hold the same.
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
		// Neither format can say what is no UTF-8.
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
		"advisories", "apiVersion", "complete", "findings", "isolation", "kind", "kinds", "passed", "problems", "rules",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(doc))); diff != "" {
		t.Errorf("fields of an empty report (-want +got)\n%s", diff)
	}
}

func TestFromTimes(t *testing.T) {
	east := time.FixedZone("east", 2*60*60)
	for _, row := range []struct {
		name string
		in   time.Time
		want string
	}{
		{"times are in UTC", time.Date(2026, 9, 29, 12, 0, 0, 0, east), `"createdAt": "2026-09-29T10:00:00Z"`},
		{"an unknown time is left out", time.Time{}, ""},
		{"so is one that cannot be written", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), ""},
		{"or is none but in its own zone", time.Date(0, 1, 1, 0, 0, 0, 0, east), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			res := &audit.Result{Findings: []audit.Finding{{Objects: []rules.Object{{Created: row.in}}}}}
			out := write(t, JSON, res, Options{})
			if row.want == "" && strings.Contains(out, "createdAt") || !strings.Contains(out, row.want) {
				t.Errorf("want %s in\n%s", row.want, out)
			}
		})
	}
}
