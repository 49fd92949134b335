package manifests_test

import (
	"strings"
	"testing"
)

// A YAML document has a bound whatever is in it, and those around it are read.
func TestReadYAMLDocumentOverTheLimit(t *testing.T) {
	pad := func(n int) string { return strings.Repeat("x", n) }
	const head = "apiVersion: v1\nkind: List\nitems:\n"
	for _, c := range []struct{ name, in string }{
		{"a list", head + strings.Repeat("- {apiVersion: v1, kind: Secret, metadata: {name: a}, x: \""+pad(1024)+"\"}\n", 8192)},
		{
			"a list in KYAML", "{\n  apiVersion: \"v1\",\n  kind: \"List\",\n  items: [{\n" +
				strings.Repeat("    apiVersion: \"v1\",\n    kind: \"Secret\",\n    x: \""+pad(1024)+"\",\n  }, {\n", 8192) + "  }],\n}\n",
		},
		{"one large item", head + "- {apiVersion: v1, kind: Secret, metadata: {name: a}, x: \"" + pad(8<<20) + "\"}\n"},
		{"a list in brackets", "items: [" + strings.Repeat("a, ", 3<<20) + "]\n"},
		{"a value that is not a list", "x:\n" + strings.Repeat("- a\n", 3<<20)},
	} {
		t.Run(c.name, streamCase{
			in:       namespace("a") + "---\n" + c.in + "---\n" + namespace("c"),
			objects:  []string{"Namespace a", "Namespace c"},
			problems: []string{"document 2: it is larger than 8 MiB: use JSON (kubectl get -o json) or several YAML documents"},
		}.run)
	}
}
