package manifests_test

import (
	"strings"
	"testing"
)

func TestReadYAMLDocuments(t *testing.T) {
	a, b := namespace("a"), namespace("b")
	both := []string{"Namespace a", "Namespace b"}
	crlf := strings.NewReplacer("\n", "\r\n")
	nothing := []string{"standard input: it contains no object and no list"}
	for _, c := range []streamCase{
		{name: "an empty stream is a problem, for its writer may have died", in: "", problems: nothing},
		{name: "blanks and comments alone are a problem", in: "\n \n# nothing here\n\t\n", problems: nothing},
		{name: "blank lines that end as only Unicode knows hold nothing", in: "\u0085\u2028\n---\n" + a, objects: []string{"Namespace a"}},
		{name: "empty documents alone are a problem", in: "---\n---\n\n---\n", problems: nothing},
		{name: "documents of comments hold nothing", in: "# one\n---\n# two\n---\n" + a + "---\n# three\n", objects: []string{"Namespace a"}},
		{name: "null holds nothing", in: "null\n---\n~\n---\n" + a, objects: []string{"Namespace a"}},
		{name: "one document needs no marker", in: a, objects: []string{"Namespace a"}},
		{name: "one document needs no line end", in: strings.TrimSuffix(a, "\n"), objects: []string{"Namespace a"}},
		{name: "a marker may stand before the first document and behind the last", in: "---\n" + a + "---\n" + b + "---", objects: both},
		{name: "blanks may stand behind a marker", in: a + "--- \t\n" + b, objects: both},
		{name: "a comment may stand behind a marker", in: a + "--- # Source: chart/b.yaml\n" + b, objects: both},
		{name: "a document may begin in the line of its marker", in: a + "--- " + namespaceJSON("b") + "\n---\n" + namespace("c"), objects: append(both, "Namespace c")},
		{name: "a line of dots ends a document", in: a + "...\n" + b + "...\n", objects: both},
		{name: "dots and a marker between two documents are one cut", in: a + "...\n---\n" + b, objects: both},
		{name: "a directive may stand before a marker", in: "%YAML 1.1\n---\n" + a + "...\n%YAML 1.1\n---\n" + b, objects: both},
		{name: "lines may end as on Windows", in: crlf.Replace(a + "---\n" + b), objects: both},
		{name: "a byte order mark may stand at the front", in: "\ufeff" + a + "---\n" + b, objects: both},
		{name: "a byte order mark may stand before a marker, as where files were put together", in: "\ufeff---\n" + a + "\ufeff---\n" + b, objects: both},
		{
			name:    "a marker inside a text is not a marker",
			in:      a + "  annotations:\n    cert: |\n      ---\n      -----BEGIN CERTIFICATE-----\n      ...\n---\n" + b,
			objects: both,
		},
		{name: "a line longer than any buffer is one line", in: a + "  annotations: {x: \"" + strings.Repeat("---\\n ", 5000) + "\"}\n---\n" + b, objects: both},
		{name: "a mapping in flow style is a document", in: "# flow\n{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n" + b, objects: both},
		{name: "a document may be indented as a whole", in: "  apiVersion: v1\n  kind: Namespace\n  metadata: {name: a}\n---\n" + b, objects: both},
		{name: "an alias stands for its anchor", in: "apiVersion: v1\nkind: Namespace\nmetadata: {name: &n a, labels: {x: *n}}\n---\n" + b, objects: both},
		{name: "a merge key is obeyed", in: "x: &x {name: a}\napiVersion: v1\nkind: Namespace\nmetadata:\n  <<: *x\n", objects: []string{"Namespace a"}},
	} {
		t.Run(c.name, c.run)
	}
}

// A document that does not parse does not affect others, and each is named.
func TestReadYAMLThatDoesNotParse(t *testing.T) {
	a, c := namespace("a"), namespace("c")
	both := []string{"Namespace a", "Namespace c"}
	const more = "parse YAML: content follows its end, without a line of --- between"
	for _, c := range []streamCase{
		{
			name: "a value in a value", in: a + "---\nkind: a: b\n---\n" + c,
			objects: both, problems: []string{"document 2: parse YAML: yaml: line 2: mapping values are not allowed in this context"},
		}, {
			name: "a tab for indentation", in: a + "---\nmetadata:\n\tname: b\n---\n" + c,
			objects: both, problems: []string{"document 2: parse YAML: yaml: line 3: found character that cannot start any token"},
		}, {
			name: "an unrendered template", in: a + "---\nname: {{ .Values.name }}\n---\n" + c,
			objects: both, problems: []string{"document 2: it looks like a template: render it first, for example with helm template"},
		}, {
			name: "a text that is not terminated", in: a + "---\nkind: \"b\n---\n" + c,
			objects: both, problems: []string{"document 2: parse YAML: yaml: line 3: found unexpected end of stream"},
		}, {
			name: "a version of YAML that there is not", in: a + "---\n...\n%YAML 7.0\n---\n" + namespace("b") + "---\n" + c,
			objects: both, problems: []string{"document 3: parse YAML: yaml: found incompatible YAML document"},
		}, {
			name: "an alias without an anchor", in: a + "---\nkind: *nothing\n---\n" + c,
			objects: both, problems: []string{"document 2: parse YAML: yaml: unknown anchor 'nothing' referenced"},
		}, {
			name: "comments count for nothing when documents are counted", in: "# top\n---\n" + a + "---\n# b\n---\n}\n---\n" + c,
			objects: both, problems: []string{"document 3: parse YAML: yaml: line 1: did not find expected node content"},
		}, {
			name: "a second value behind one in flow style", in: a + "---\n# flow\n" + namespaceJSON("b") + "\n" + namespaceJSON("b2") + "\n---\n" + c,
			objects: both, problems: []string{"document 2: " + more},
		}, {
			name: "a line further left than the first", in: a + "---\n  apiVersion: v1\n  kind: Namespace\nmetadata: {name: b}\n---\n" + c,
			objects: both, problems: []string{"document 2: " + more},
		}, {
			name: "content behind the dots that end it", in: a + "---\n" + namespace("b") + "... kind: Secret\n---\n" + c,
			objects: both, problems: []string{"document 2: parse YAML: content follows the dots that end it"},
		}, {
			name: "a line of dashes that is not a marker", in: a + "---\n" + namespace("b") + "---b\n---\n" + c,
			objects: both, problems: []string{"document 2: parse YAML: yaml: line 7: could not find expected ':'"},
		}, {
			name: "markers that only old line ends make", in: a + "---\nx: 1\r---\rx: 2\n---\n" + c,
			objects: both, problems: []string{"document 2: " + more},
		}, {
			name: "markers that only the line ends of Unicode make", in: a + "---\nx: 1\u2028---\u2028x: 2\u0085---\u0085x: 3\n---\n" + c,
			objects: both, problems: []string{"document 2: " + more},
		},
	} {
		t.Run(c.name, c.run)
	}
}
