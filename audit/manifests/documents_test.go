package manifests_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A YAML document has a bound whatever it contains, and those around it are read.
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

// endless is a text again and again.
type endless struct {
	text string
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// A document over the limit is not held in memory, and the others are read.
func TestReadDocumentOverTheLimit(t *testing.T) {
	const limit = 8 << 20
	for _, c := range []struct {
		name string
		text string
	}{
		{"of many lines", strings.Repeat("  - "+strings.Repeat("a", 1000)+"\n", 50)},
		{"of one line", strings.Repeat("a, ", 20000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := read(t, stdin(io.MultiReader(
				strings.NewReader(namespace("a")+"---\nx:\n"), io.LimitReader(&endless{text: c.text}, limit+(2<<20)),
				strings.NewReader("\n---\n"+namespace("b")),
			)))
			want := reading{
				objects:  []string{"Namespace a", "Namespace b"},
				problems: []string{"standard input document 2: it is larger than 8 MiB: use JSON (kubectl get -o json) or several YAML documents"},
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

// bomb is a list of lists, each of nine times the one before.
func bomb(levels int) string {
	text := "apiVersion: v1\nkind: Namespace\nl0: &l0 [a, a, a, a, a, a, a, a, a]\n"
	for i := 1; i < levels; i++ {
		text += fmt.Sprintf("l%d: &l%d [%s]\n", i, i, strings.Join(slices.Repeat([]string{fmt.Sprintf("*l%d", i-1)}, 9), ", "))
	}
	return text + "metadata: {name: bomb}\n"
}

func TestReadAliasesThatGrowWithoutBound(t *testing.T) {
	const reason = "document 2: parse YAML: aliases expand it to more than 64 MiB"
	long := strings.Repeat("x", 1<<20)
	// A value under this tag is decoded anew for each alias.
	binary := "!!binary " + strings.Repeat("QUFB", 1<<18)
	many := "[" + strings.Repeat("*a, ", 1000) + "]\n"
	for _, c := range []struct{ name, in, problem string }{
		{"lists of lists", bomb(20), reason},
		{"one long text again and again", "x: &a " + long + "\ny: " + many, reason},
		{"one long value of bytes again and again", "x: &a " + binary + "\ny: " + many, reason},
		{"a value that holds itself", "x: &a [*a]\n", reason},
		{"a mapping that holds itself", "x: &a {b: {c: *a}}\n", reason},
		{"a few levels, which would fit, are refused by the parser", bomb(7), "document 2: parse YAML: yaml: document contains excessive aliasing"},
	} {
		both := []string{"Namespace a", "Namespace c"}
		t.Run(c.name, streamCase{
			in: namespace("a") + "---\n" + c.in + "---\n" + namespace("c"), objects: both, problems: []string{c.problem},
		}.run)
	}
}

func TestReadDeepNesting(t *testing.T) {
	const depth = 200_000
	head := namespace("a") + "---\n"
	for _, c := range []struct{ name, in, problem string }{
		{
			"lists in YAML", head + "x: " + strings.Repeat("[", depth),
			"document 2: parse YAML: yaml: line 2: exceeded max depth of 10000",
		}, {
			"mappings in YAML", head + "x: " + strings.Repeat("{a: ", depth),
			"document 2: parse YAML: yaml: line 2: exceeded max depth of 10000",
		}, {
			"dashes in YAML", head + strings.Repeat("- ", depth),
			"document 2: parse YAML: yaml: line 2: exceeded max depth of 10000",
		}, {
			"lists in JSON", namespaceJSON("a") + strings.Repeat("[", depth),
			"document 2: parse JSON: invalid character '[' exceeded max depth; what follows was not read",
		}, {
			"Lists", namespaceJSON("a") + nested(4000, namespaceJSON("b")),
			"document 2" + strings.Repeat(" item 1", 8) + ": decode List: lists are nested more than 8 deep",
		},
	} {
		t.Run(c.name, streamCase{in: c.in, objects: []string{"Namespace a"}, problems: []string{c.problem}}.run)
	}
}
