package main

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// configMaps are so many bytes, or a few less, of an object of which a sweep keeps
// nothing.
func configMaps(size int, format string) io.Reader {
	text := fmt.Sprintf(format, "v1", "ConfigMap")
	return again(text, int64(size/len(text)*len(text)))
}

// TestManyObjectsTakeAsMuchAsTheirText pipes very many small objects into the program,
// none of which it keeps. In each form that kubectl prints, the process takes a small
// multiple of their text at most, where a tree of them takes forty times as much.
func TestManyObjectsTakeAsMuchAsTheirText(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads some ten megabytes of YAML")
	}
	program, launch := buildAudit(t), buildAt(t, "../../e2e/bench/launch")
	const (
		yaml  = "apiVersion: %s\n  kind: %s\n  metadata:\n    name: settings\n    labels: {app: web}\n  data: {a: \"1\", b: \"2\"}\n"
		kyaml = "  }, {\n    apiVersion: \"%s\",\n    kind: \"%s\",\n    metadata: {\n      name: \"settings\",\n    },\n    data: {\n      a: \"1\",\n    },\n"
		json  = `{"apiVersion":"%s","kind":"%s","metadata":{"name":"settings","labels":{"app":"web"}},"data":{"a":"1","b":"2"}}`
	)
	head := strings.NewReader
	for _, c := range []struct {
		name string
		in   io.Reader
		most int64 // MiB
	}{
		{"documents of YAML", configMaps(8<<20, "---\n  "+yaml), 110},
		{"a list of YAML", io.MultiReader(head("apiVersion: v1\nitems:\n"), configMaps(16<<20, "- "+yaml), head("kind: List\n")), 180},
		{"a list of KYAML", io.MultiReader(head("---\n{\n  items: [{\n    apiVersion: v1,\n    kind: Secret,\n"), configMaps(16<<20, kyaml), head("  }],\n  apiVersion: v1,\n  kind: List,\n}\n")), 180},
		{"values of JSON", configMaps(32<<20, json+"\n"), 110},
		{"a list of JSON", io.MultiReader(head(`{"apiVersion":"v1","items":[`), configMaps(32<<20, json+",\n"), head(`{"apiVersion":"v1","kind":"Secret"}],"kind":"List"}`)), 180},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, peak := pipedSweep(t, launch, program, c.in)
			t.Logf("%d MiB", peak)
			if peak > c.most {
				t.Errorf("it took %d MiB of memory, want at most %d", peak, c.most)
			}
			if !r.Complete || len(r.Ignored) == 0 || r.Ignored[0].Items < 50_000 {
				t.Errorf("complete: %t, problems: %v, passed over: %+v", r.Complete, r.Problems, r.Ignored)
			}
		})
	}
}
