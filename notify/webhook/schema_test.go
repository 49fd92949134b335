package webhook_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// schema is the part of JSON Schema that digest.schema.json uses: decoding rejects other
// keywords.
type schema struct {
	Schema      string             `json:"$schema"`
	ID          string             `json:"$id"`
	Defs        map[string]*schema `json:"$defs"`
	Ref         string             `json:"$ref"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Type        string             `json:"type"`
	Const       any                `json:"const"`
	Enum        []any              `json:"enum"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	MinItems    int                `json:"minItems"`
	MinLength   int                `json:"minLength"`
	Minimum     *float64           `json:"minimum"`
	Pattern     string             `json:"pattern"`
	Format      string             `json:"format"`

	met map[string]bool // properties that were seen
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	f, err := os.Open("digest.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	root := &schema{}
	if err := dec.Decode(root); err != nil {
		t.Fatal(err)
	}
	return root
}

// check returns what is wrong with a value. Readers ignore unknown properties; here they are
// an error.
func (s *schema) check(root *schema, path string, v any) []string {
	var out []string
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			out = append(out, path+" "+fmt.Sprintf(format, args...))
		}
	}
	if s.Ref != "" { // other keywords beside it are descriptions
		return root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")].check(root, path, v)
	}
	bad(s.Const == nil || reflect.DeepEqual(s.Const, v), "is %v", v)
	bad(s.Enum == nil || slices.Contains(s.Enum, v), "is %v", v)
	bad(s.Type == "" || typeOf(v) == s.Type, "is of type %s", typeOf(v))
	switch v := v.(type) {
	case string:
		bad(utf8.RuneCountInString(v) >= s.MinLength, "is short")
		bad(regexp.MustCompile(s.Pattern).MatchString(v), "is %q", v)
		_, err := time.Parse(time.RFC3339, v)
		bad(s.Format != "date-time" || err == nil, "is not a time: %q", v)
	case float64:
		bad(s.Minimum == nil || v >= *s.Minimum, "is %v", v)
	case []any:
		bad(len(v) >= s.MinItems, "has %d items", len(v))
		for i, e := range v {
			out = append(out, s.Items.check(root, fmt.Sprintf("%s[%d]", path, i), e)...)
		}
	case map[string]any:
		for _, name := range s.Required {
			bad(v[name] != nil, "lacks %s", name)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			p := s.Properties[name]
			if bad(p != nil, "has %s, which the schema does not know", name); p == nil {
				continue
			}
			if s.met == nil {
				s.met = map[string]bool{}
			}
			s.met[name] = true
			out = append(out, p.check(root, path+"."+name, v[name])...)
		}
	}
	return out
}

func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case float64:
		if v == float64(int64(v)) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

// unmet returns the properties that are in no document.
func (s *schema) unmet(path string) []string {
	var out []string
	for name := range s.Properties {
		if !s.met[name] {
			out = append(out, path+"."+name)
		}
	}
	for name, d := range s.Defs {
		out = append(out, d.unmet(name)...)
	}
	slices.Sort(out)
	return out
}

func readDocument(t *testing.T, path string) any {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGoldensMatchTheSchema(t *testing.T) {
	root := readSchema(t)
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) != len(digests()) {
		t.Fatalf("%d goldens of %d digests: %v", len(paths), len(digests()), err)
	}
	for _, path := range paths {
		for _, problem := range root.check(root, path, readDocument(t, path)) {
			t.Error(problem)
		}
	}
	for _, p := range root.unmet("digest") {
		t.Errorf("no golden has %s", p)
	}
}

func TestTheSchemaRejects(t *testing.T) {
	root := readSchema(t)
	for _, row := range []struct {
		name, want string
		spoil      func(digest, item, finding map[string]any)
	}{
		{"another kind", "d.kind is Report", func(d, _, _ map[string]any) { d["kind"] = "Report" }},
		{"no owner", "d lacks owner", func(d, _, _ map[string]any) { delete(d, "owner") }},
		{"an empty digest", "d.items has 0 items", func(d, _, _ map[string]any) { d["items"] = []any{} }},
		{"a list that is null", "d.items is of type null", func(d, _, _ map[string]any) { d["items"] = nil }},
		{"a negative count", "d.open is -1", func(d, _, _ map[string]any) { d["open"] = -1.0 }},
		{"an unknown event", "d.items[0].event is closed", func(_, i, _ map[string]any) { i["event"] = "closed" }},
		{"an invalid key", `d.items[0].key is "1"`, func(_, i, _ map[string]any) { i["key"] = "1" }},
		{"an invalid time", `d.items[0].finding.firstSeen is not a time: "now"`, func(_, _, f map[string]any) { f["firstSeen"] = "now" }},
		{"an unknown field", "d.items[0].finding has fixed, which", func(_, _, f map[string]any) { f["fixed"] = true }},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := readDocument(t, "testdata/opened.json").(map[string]any)
			i := d["items"].([]any)[0].(map[string]any)
			row.spoil(d, i, i["finding"].(map[string]any))
			if got := strings.Join(root.check(root, "d", any(d)), "\n"); !strings.Contains(got, row.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}
