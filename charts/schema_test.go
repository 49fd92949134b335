package charts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/audit/config"
)

type schema = map[string]any

// TestGeneratedSchema keeps the config in the schema of the values the same as the keys
// that audit knows, so that Helm rejects an unknown key before anything is installed.
func TestGeneratedSchema(t *testing.T) {
	root := section()
	for _, key := range config.Keys() {
		leaf := schemaOf(t, key)
		if key.Doc != "" {
			leaf["description"] = key.Doc
		}
		place(root, strings.Split(key.Path, "."), leaf)
	}
	restrictHostSources(root)
	root["description"] = "The config file of audit."
	root["type"] = "object"

	const name = "values.schema.json"
	path := filepath.Join(chart, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	generated, err := marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	// Only this property is generated. The rest of the file keeps its order.
	const begin, end = "\n    \"config\": ", "\n    },\n"
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !ok || !found {
		t.Fatalf("%s has no property config", path)
	}
	compareGenerated(t, "../"+name, before+begin+strings.TrimSuffix(generated, "}")+"},\n"+after)
}

// TestSchemaKnowsEveryAlert: values can change each alert, and the threshold of those that
// have one.
func TestSchemaKnowsEveryAlert(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Properties struct {
			PrometheusRule struct {
				Properties struct {
					Alerts struct {
						Properties map[string]map[string]string
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, s := range file.Properties.PrometheusRule.Properties.Alerts.Properties {
		got[name] = s["$ref"]
	}
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if text, err = os.ReadFile(filepath.Join(chart, "files", "alerts.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	threshold := regexp.MustCompile(`[0-9]+ \* (3600|86400)`)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			want[r.Alert] = "#/definitions/alert"
			if threshold.MatchString(r.Expr) {
				want[r.Alert] += "WithThreshold"
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alerts (-file +schema):\n%s", diff)
	}
}

// marshal formats a schema as a property of the file.
func marshal(s schema) (string, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("    ", "  ")
	err := encoder.Encode(s)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// section is a mapping with known keys. One without any is the same as none.
func section() schema {
	return schema{"type": []string{"object", "null"}, "additionalProperties": false, "properties": schema{}}
}

// place puts the schema of a value under its path: NAME stands for any key of a mapping,
// and [] for the items of a list.
func place(in schema, path []string, leaf schema) {
	name, list := strings.CutSuffix(path[0], "[]")
	step := func(in schema, key string, fresh schema) schema {
		if next, ok := in[key].(schema); ok {
			return next
		}
		in[key] = fresh
		return fresh
	}
	if name == "NAME" {
		delete(in, "properties")
		in = step(in, "additionalProperties", section())
		place(in, path[1:], leaf)
		return
	}
	if len(path) == 1 {
		in["properties"].(schema)[name] = leaf
		return
	}
	if list {
		items := step(in["properties"].(schema), name, schema{"type": []string{"array", "null"}})
		place(step(items, "items", section()), path[1:], leaf)
		return
	}
	place(step(in["properties"].(schema), name, section()), path[1:], leaf)
}

// schemaOf returns the schema of a value. What a value with a syntax of its own may be is
// left to audit, except where it is as simple as a list of words.
func schemaOf(t *testing.T, key config.Key) schema {
	t.Helper()
	text := schema{"type": "string"}
	listOf := func(items schema) schema { return schema{"type": "array", "items": items} }
	if key.Type == "list of Ingress, Egress" {
		return listOf(schema{"enum": []string{"Ingress", "Egress"}})
	}
	if strings.HasPrefix(key.Type, "list of ") {
		return listOf(text)
	}
	switch key.Type {
	case "string", "channel ID", "glob", "CEL", "mention", "date or time", "time of day", "time zone", "duration, or N sweeps":
		return text
	case "boolean":
		return schema{"type": "boolean"}
	case "integer":
		return schema{"type": "integer", "minimum": 1}
	case "duration":
		return schema{"$ref": "#/definitions/duration"}
	case "URL", "URL with placeholders":
		return schema{"type": "string", "pattern": "^https?://"}
	case "low, medium or high":
		return schema{"enum": []string{"low", "medium", "high"}}
	case "observe, standard or strict":
		return schema{"enum": []string{"observe", "standard", "strict"}}
	case "one or many":
		return schema{"enum": []string{"one", "many"}}
	case "mapping":
		return schema{"$ref": "#/definitions/strings"}
	}
	t.Errorf("%s has type %q, which has no schema", key.Path, key.Type)
	return text
}

// restrictHostSources adds what the ClusterRole depends on: it never grants the right to
// read Secrets.
func restrictHostSources(root schema) {
	items := root["properties"].(schema)["hostSources"].(schema)["items"].(schema)
	items["required"] = []string{"resource"}
	resource := items["properties"].(schema)["resource"].(schema)
	resource["pattern"] = "^[a-z][a-z0-9]*$"
	resource["not"] = schema{"const": "secrets"}
}
