package manifests_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadJSON(t *testing.T) {
	a, b := namespaceJSON("a"), namespaceJSON("b")
	both := []string{"Namespace a", "Namespace b"}
	for _, c := range []streamCase{
		{name: "one value", in: a, objects: []string{"Namespace a"}},
		{name: "one value over many lines", in: strings.ReplaceAll(a, ",", ",\n  ") + "\n", objects: []string{"Namespace a"}},
		{name: "a value a line", in: a + "\n" + b + "\n", objects: both},
		{name: "values one behind the other", in: a + b, objects: both},
		{name: "blanks before the first value", in: " \t\r\n" + a, objects: []string{"Namespace a"}},
		{name: "a byte order mark before several values", in: "\ufeff" + a + "\n" + b, objects: both},
		{name: "more blank lines than a buffer holds before several values", in: strings.Repeat(" \t\r\n", 1<<14) + a + "\n" + b, objects: both},
		{name: "JSON behind a marker is YAML", in: "---\n" + a + "\n---\n" + b + "\n", objects: both},
		{name: "blanks between a brace and its first key", in: "{ \r\n\t" + a[1:] + b, objects: both},
		{name: "more blanks behind a brace than a buffer holds", in: "{" + strings.Repeat(" ", 1<<14) + a[1:] + b, objects: both},
		{name: "a brace without a quote behind it is YAML", in: "{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n" + namespace("b"), objects: both},
		{name: "a brace with a comment behind it is YAML", in: "{ # a\n  apiVersion: v1,\n  kind: Namespace,\n  metadata: {name: a},\n}\n---\n" + b, objects: both},
		{
			name: "an empty mapping is JSON", in: "{ }" + a, objects: []string{"Namespace a"},
			problems: []string{"document 1: decode object: apiVersion or kind is missing"},
		},
		{
			name: "a brace and nothing else is JSON that is cut off", in: " {\n",
			problems: []string{"document 1: parse JSON: unexpected EOF; what follows was not read"},
		},
		{
			name:     "behind a value that does not parse the rest is given up, and the place is named",
			in:       a + "\n{\"kind\": }\n" + b,
			objects:  []string{"Namespace a"},
			problems: []string{"document 2: parse JSON: invalid character '}' looking for beginning of value; what follows was not read"},
		},
		{
			name:     "a value that is cut off is a problem",
			in:       a + "\n" + b[:20],
			objects:  []string{"Namespace a"},
			problems: []string{"document 2: parse JSON: unexpected EOF; what follows was not read"},
		},
		{
			name:    "a value that parses and is not an object does not affect others",
			in:      a + "\n[1]\n\"kind\"\n7\n" + b,
			objects: both,
			problems: []string{
				"document 2: decode object: it is not a mapping", "document 3: decode object: it is not a mapping", "document 4: decode object: it is not a mapping",
			},
		},
	} {
		t.Run(c.name, c.run)
	}
}

// A JSON value over the limit is given up before it is held as a whole, and so is what
// follows. What came before is read.
func TestReadJSONOverTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it reads 256 MiB")
	}
	got, _ := read(t, stdin(io.MultiReader(
		strings.NewReader(namespaceJSON("a")+`{"x": "`), io.LimitReader(&endless{text: strings.Repeat("a", 1000)}, 256<<20),
		strings.NewReader(`"}`+namespaceJSON("b")),
	)))
	want := reading{
		objects:  []string{"Namespace a"},
		problems: []string{"standard input document 2: it has more than 256 MiB; what follows was not read"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}
