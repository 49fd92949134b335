package manifests_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/manifests"
)

// nested returns a List in a List, so many times, around an item.
func nested(times int, item string) string {
	return strings.Repeat(`{"apiVersion":"v1","kind":"List","items":[`, times) + item + strings.Repeat("]}", times)
}

func TestReadLists(t *testing.T) {
	const kubectl = `apiVersion: v1
items:
- apiVersion: v1
  kind: Namespace
  metadata:
    name: a
- apiVersion: networking.k8s.io/v1
  kind: Ingress
  metadata:
    name: web
    namespace: a
  spec: {}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings
    namespace: a
kind: List
metadata:
  resourceVersion: ""
`
	ingress := func(name string) string { return `{"metadata":{"namespace":"a","name":"` + name + `"}}` }
	for _, c := range []streamCase{
		{
			name: "a List as kubectl get -o yaml prints it", in: kubectl,
			objects: []string{"Namespace a", "Ingress a/web"}, passed: []string{"v1 ConfigMap x1"},
		}, {
			name:    "a List as kubectl get -o json prints it",
			in:      `{"apiVersion":"v1","items":[` + namespaceJSON("a") + `,` + namespaceJSON("b") + `],"kind":"List","metadata":{"resourceVersion":""}}`,
			objects: []string{"Namespace a", "Namespace b"},
		}, {
			name: "an empty List holds nothing", in: `{"apiVersion":"v1","items":[],"kind":"List"}`,
		}, {
			name: "a List whose items are null holds nothing", in: "apiVersion: v1\nkind: NamespaceList\nitems:\n",
		}, {
			name:    "the items of a typed list have its type where they tell none",
			in:      `{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","items":[` + ingress("b") + `,` + ingress("c") + `]}`,
			objects: []string{"Ingress a/b", "Ingress a/c"},
		}, {
			name:    "the items of a typed list may tell another type",
			in:      `{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","items":[` + namespaceJSON("a") + `]}`,
			objects: []string{"Namespace a"},
		}, {
			name:    "a List may stand in a List",
			in:      nested(8, namespaceJSON("a")),
			objects: []string{"Namespace a"},
		}, {
			name:     "a List too deep in others is a problem",
			in:       nested(9, namespaceJSON("a")),
			problems: []string{"document 1" + strings.Repeat(" item 1", 8) + ": decode List: more than 8 lists in one another"},
		}, {
			name:     "an item of a List that tells no type is a problem, and the others are read",
			in:       `{"apiVersion":"v1","kind":"List","items":[` + ingress("b") + `,` + namespaceJSON("a") + `]}`,
			objects:  []string{"Namespace a"},
			problems: []string{"document 1 item 1: decode object: no apiVersion or no kind"},
		}, {
			name:     "an item of a List has not the version of the List",
			in:       "apiVersion: v1\nkind: List\nitems: [{kind: Namespace, metadata: {name: a}}]\n",
			problems: []string{"document 1 item 1: decode object: no apiVersion or no kind"},
		}, {
			name:     "an item that is no mapping is a problem, and the others are read",
			in:       "apiVersion: v1\nkind: NamespaceList\nitems: [null, 7, {metadata: {name: a}}]\n",
			objects:  []string{"Namespace a"},
			problems: []string{"document 1 item 1: decode object: it is not a mapping", "document 1 item 2: decode object: it is not a mapping"},
		}, {
			name:     "items that are no list are a problem",
			in:       "apiVersion: v1\nkind: List\nitems: {a: 1}\n",
			problems: []string{"document 1: decode List: items is not a list"},
		}, {
			name:   "a kind that is only called a list is passed over like others",
			in:     "apiVersion: example.com/v1\nkind: AllowList\nspec: {}\n",
			passed: []string{"example.com/v1 AllowList x1"},
		}, {
			name:   "a kind that is no list may have items of any sort",
			in:     "apiVersion: example.com/v1\nkind: Menu\nitems: {soup: 1}\n",
			passed: []string{"example.com/v1 Menu x1"},
		},
	} {
		t.Run(c.name, c.run)
	}
}

func TestReadListNamesTheItem(t *testing.T) {
	items := make([]string, 30)
	for i := range items {
		items[i] = namespaceJSON(fmt.Sprintf("ns-%02d", i))
	}
	items[11] = `{"apiVersion":"v1","kind":"Namespace"}`
	got, _ := read(t, stdin(strings.NewReader(`{"apiVersion":"v1","kind":"List","items":[`+strings.Join(items, ",")+`]}`)))
	if len(got.objects) != 29 || len(got.problems) != 1 || got.problems[0] != "standard input document 1 item 12: decode Namespace: no metadata.name" {
		t.Errorf("%d objects, problems %q", len(got.objects), got.problems)
	}
}

// Each part of a file may be a problem, and all of them would be many times the file.
func TestProblemsAreListedUpToANumber(t *testing.T) {
	list := `{"apiVersion":"v1","kind":"List","items":[` + strings.Repeat("{},", 4999) + `{}]}`
	got, _ := read(t, stdin(strings.NewReader(list)))
	if len(got.problems) != 1001 || got.problems[1000] != "elsewhere: 4000 more problems" {
		t.Errorf("%d problems, the last one %q", len(got.problems), got.problems[len(got.problems)-1])
	}
	// A file in which all is a problem is no file without an object.
	dir := write(t, map[string]string{"a.json": list, "b.json": list})
	got, _ = read(t, &manifests.Source{Paths: []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}})
	if last := got.problems[len(got.problems)-1]; last != "elsewhere: 9000 more problems" {
		t.Errorf("of two files the last problem is %q", last)
	}
}
