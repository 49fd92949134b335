package manifests_test

import (
	"strings"
	"testing"
)

// itemsOver are more items of a list than are parsed at once, with a Namespace behind them.
func itemsOver(lines string) string {
	return "apiVersion: v1\nkind: List\nitems:\n" + strings.Repeat(lines, (8<<20)/len(lines)+1) +
		"- apiVersion: v1\n  kind: Namespace\n  metadata: {name: b}\n"
}

// What is parsed at once is bounded by less than a document is. A list whose items
// can be told from each other is not.
func TestReadDocumentThatIsParsedAtOnce(t *testing.T) {
	const secret = "- {apiVersion: v1, kind: Secret, metadata: {name: a}, x: \"" // and more
	const advice = "and of what is no list with each item on lines of its own not more than 8 MiB can be read: give it as several documents, or as JSON"
	pad := func(n int) string { return strings.Repeat("x", n) }
	secrets := []string{"v1 Secret x8193"}
	all, around := []string{"Namespace a", "Namespace b", "Namespace c"}, []string{"Namespace a", "Namespace c"}
	for _, c := range []streamCase{
		{name: "a list", in: itemsOver(secret + pad(1024-len(secret)-3) + "\"}\n"), objects: all, passed: secrets},
		{
			name: "a list in KYAML",
			in: "{\n  apiVersion: \"v1\",\n  items: [{\n" + strings.Repeat("    apiVersion: \"v1\",\n    kind: \"Secret\",\n    x: \""+pad(1024)+"\",\n  }, {\n", 8193) +
				"    apiVersion: \"v1\",\n    kind: \"Namespace\",\n    metadata: {\n      name: \"b\",\n    },\n  }],\n  kind: \"List\",\n}\n",
			objects: all, passed: secrets,
		},
		{
			name:     "an item that does not parse, in its place",
			in:       itemsOver(secret+pad(1024-len(secret)-3)+"\"}\n") + "- a\n- kind: a: b\n",
			objects:  around,
			problems: []string{"document 2: parse YAML: yaml: line 8202: mapping values are not allowed in this context"},
		},
		{
			name: "an item that is too large itself", in: itemsOver(secret + pad(8<<20) + "\"}\n"), objects: around,
			problems: []string{"document 2: parse YAML: the item at line 5: it has 8 MiB, more than 8 MiB"},
		},
		{
			name: "a list in brackets", in: "items: [" + strings.Repeat("a, ", 3<<20) + "]\n", objects: around,
			problems: []string{"document 2: parse YAML: it has 9 MiB, " + advice},
		},
		{
			name: "a value that is no list", in: "x:\n" + strings.Repeat("- a\n", 3<<20), objects: around,
			problems: []string{"document 2: parse YAML: it has 12 MiB, " + advice},
		},
		{
			name: "items in quotes", in: "x: \"\n" + itemsOver("- "+pad(1021)+"\n") + "\"\n", objects: around,
			problems: []string{"document 2: parse YAML: it has 8 MiB, " + advice},
		},
		{
			name:     "items whose aliases grow without bound together",
			in:       itemsOver("- {x: &x " + pad(1<<20) + ", y: [*x, *x, *x, *x, *x, *x, *x, *x]}\n"),
			objects:  around,
			problems: []string{"document 2: parse YAML: aliases make more than 64 MiB of it"},
		},
	} {
		c.in = namespace("a") + "---\n" + c.in + "---\n" + namespace("c")
		t.Run(c.name, c.run)
	}
}
