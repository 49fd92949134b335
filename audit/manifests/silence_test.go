package manifests_test

import (
	"strings"
	"testing"
)

// What a parser would pass over in silence either counts or is a problem: a file of
// which a part was not read must not look as if nothing were wrong in it.
func TestNothingIsPassedOverInSilence(t *testing.T) {
	const a, b = "- apiVersion: v1\n  kind: Namespace\n  metadata: {name: a}\n", "- apiVersion: v1\n  kind: Namespace\n  metadata: {name: b}\n"
	const twice, item = "apiVersion: v1\nkind: List\nitems:\n", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`
	for _, c := range []struct {
		says, in string
		problem  string // a part of the one; none where it is empty
		objects  int
	}{
		{"an alias behind the items stands for what the last of them names so", "x: &k Menu\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata: {name: a, labels: {x: &k List}}\nkind: *k\n", "", 1},
		{"a directive among the items is no end", twice + a + "%YAML 1.1\n" + b, "parse YAML", 0},
		{"nor is one behind an object", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n%TAG ! x\n]]]]", "without a line of --- between", 0},
		{"of two lists that were joined without a line between both are there", twice + a + twice + b, `key "apiVersion" already set`, 0},
		{"so are items that are given twice", twice + a + "items:\n" + b, `key "items" already set`, 0},
		{"and fields of an object", "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\nkind: Pod\n", `key "kind" already set`, 0},
		{"and items in JSON", `{"apiVersion":"v1","kind":"List","items":[` + item + `],"items":[]}`, `duplicate field "items"`, 0},
		{"a list without items is no empty one", "apiVersion: v1\nkind: List\n", "it has no items", 0},
		{"nor is one whose items are called otherwise", "apiVersion: v1\nkind: List\nItems:\n" + a, "it has no items", 0},
		{"an empty list is one", `{"apiVersion":"v1","kind":"List","items":[]}`, "", 0},
		{"the same object in a list, behind more blanks, is the same", item + `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1", "kind":"Namespace",` + "\n" + `"metadata":{ "name":"a"}}]}`, "", 1},
	} {
		t.Run(c.says, func(t *testing.T) {
			got, _ := read(t, stdin(strings.NewReader(c.in)))
			switch {
			case len(got.objects) != c.objects:
			case c.problem == "" && len(got.problems) == 0:
				return
			case c.problem != "" && len(got.problems) == 1 && strings.Contains(got.problems[0], c.problem):
				return
			}
			t.Errorf("objects %q, problems %q", got.objects, got.problems)
		})
	}
}
