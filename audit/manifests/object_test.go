package manifests_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestReadObjects(t *testing.T) {
	for _, c := range []streamCase{
		{
			name:    "an object without a namespace is in namespace default",
			in:      "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n",
			objects: []string{"Ingress default/web"},
		}, {
			name:    "a cluster-wide object has no namespace, whatever it says",
			in:      object("v1", "Namespace", "a") + "---\n" + object("networking.k8s.io/v1", "IngressClass", "nginx"),
			objects: []string{"Namespace a", "IngressClass nginx"},
		}, {
			name:    "an unknown field is ignored, as by API servers",
			in:      "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, colour: red}\nextra: {deep: [1]}\n",
			objects: []string{"Namespace a"},
		}, {
			name:    "a field in another case is another field",
			in:      "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, Name: b}\nKind: Secret\n",
			objects: []string{"Namespace a"},
		}, {
			name:     "an object without a kind is a problem",
			in:       "apiVersion: v1\nmetadata: {name: a}\n",
			problems: []string{"document 1: decode object: apiVersion or kind is missing"},
		}, {
			name:     "an object without an apiVersion is a problem",
			in:       "kind: Namespace\nmetadata: {name: a}\n",
			problems: []string{"document 1: decode object: apiVersion or kind is missing"},
		}, {
			name:     "an empty mapping is a problem",
			in:       "{}\n",
			problems: []string{"document 1: decode object: apiVersion or kind is missing"},
		}, {
			name:     "a text is a problem",
			in:       "hello\n---\n- a\n- b\n---\n7\n",
			problems: []string{"document 1: decode object: it is not a mapping", "document 2: decode object: it is not a mapping", "document 3: decode object: it is not a mapping"},
		}, {
			name:     "an object without a name is a problem",
			in:       "apiVersion: batch/v1\nkind: Job\nmetadata: {namespace: shop}\n",
			problems: []string{"document 1: decode Job: metadata.name is missing"},
		}, {
			name:     "a kind of a wrong type is a problem",
			in:       "apiVersion: v1\nkind: 7\n",
			problems: []string{"document 1: decode object: kind: json: cannot unmarshal number into Go value of type string"},
		}, {
			name:     "an apiVersion that is none is a problem",
			in:       "apiVersion: a/b/c\nkind: Namespace\n",
			problems: []string{"document 1: decode object: unexpected GroupVersion string: a/b/c"},
		}, {
			name:    "a field of a wrong type is a fault of the object, and the next object is read",
			in:      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: many}\n---\n" + namespace("a"),
			objects: []string{"Namespace a"},
			faults:  []string{"Deployment default/web: decode Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"},
		}, {
			name:    "a number where a text belongs is a fault, as with an API server",
			in:      "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {owner: 7}}\n",
			objects: []string{"Namespace a"},
			faults:  []string{"Namespace a: decode Namespace: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"},
		}, {
			name: "an object without a name that can be read is a problem",
			in:   "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: 7}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: []}\n",
			problems: []string{
				"document 1: decode Deployment: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string",
				"document 2: decode Deployment: json: cannot unmarshal array into Go struct field ObjectMeta.metadata.namespace of type string",
			},
		}, {
			name:     "a reason is one line",
			in:       "apiVersion: \"a/b/\\n\\nc\"\nkind: Namespace\n",
			problems: []string{"document 1: decode object: unexpected GroupVersion string: a/b/ c"},
		},
	} {
		t.Run(c.name, c.run)
	}
}

// Of two readings of one object the last counts, and that there are two is a problem:
// it is unknown which of them is in force.
func TestReadObjectTwiceKeepsTheLast(t *testing.T) {
	ingress := func(class string) string {
		return "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\nspec: {ingressClassName: " + class + "}\n---\n"
	}
	got, snap := read(t, stdin(strings.NewReader(ingress("first")+ingress("last"))))
	want := reading{
		objects:  []string{"Ingress default/web"},
		problems: []string{"standard input document 2: Ingress default/web differs from the one in standard input document 1"},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); diff != "" {
		t.Fatalf("read (-want +got):\n%s", diff)
	}
	for f := range snap.View(snapshot.Ingresses).Ingresses() {
		if f.Class != "last" {
			t.Errorf("class %q, want that of the last", f.Class)
		}
	}
}

func TestReadObjectTwiceSeesTheNamespaceThatIsLeftOut(t *testing.T) {
	in := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web}\n---\n" +
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: web, namespace: default}\nspec: {ingressClassName: a}\n"
	streamCase{
		in: in, objects: []string{"Ingress default/web"},
		problems: []string{"document 2: Ingress default/web differs from the one in standard input document 1"},
	}.run(t)
}

func TestReadTheSameObjectTwiceIsNoProblem(t *testing.T) {
	streamCase{in: namespace("a") + "---\n" + namespace("a"), objects: []string{"Namespace a"}}.run(t)
}

// What rules do not need may differ: the facts are the same, whatever the text.
func TestReadObjectTwiceComparesWhatRulesNeed(t *testing.T) {
	deployment := func(rest string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\n" + rest + "---\n"
	}
	streamCase{
		in: deployment("spec: {replicas: 1, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: web:1}]}}}\n") +
			deployment("spec: {template: {spec: {containers: [{image: web:2, name: main}]}, metadata: {labels: {app: web}}}, replicas: 3}\nstatus: {replicas: 2}\n"),
		objects: []string{"Deployment shop/web"},
	}.run(t)
	streamCase{
		in: deployment("spec: {template: {metadata: {labels: {app: web}}}}\n") +
			deployment("spec: {template: {metadata: {labels: {app: shop}}}}\n"),
		objects:  []string{"Deployment shop/web"},
		problems: []string{"document 2: Deployment shop/web differs from the one in standard input document 1"},
	}.run(t)
}

// The API server makes the name, a new one each time that the object is created.
func TestReadGeneratedNames(t *testing.T) {
	job := func(metadata, app string) string {
		return "apiVersion: batch/v1\nkind: Job\nmetadata: {" + metadata + "}\nspec: {template: {metadata: {labels: {app: " + app + "}}}}\n---\n"
	}
	for _, c := range []streamCase{
		{name: "one", in: job("generateName: migrate-, namespace: shop", "a"), objects: []string{"Job shop/migrate-*"}},
		{
			name:    "each is an object of its own, even with the same content",
			in:      job("generateName: migrate-, namespace: shop", "a") + job("generateName: migrate-, namespace: shop", "b") + job("generateName: migrate-, namespace: shop", "b"),
			objects: []string{"Job shop/migrate-*", "Job shop/migrate-*(2)", "Job shop/migrate-*(3)"},
		},
		{
			name:    "namespaces have names of their own",
			in:      job("generateName: migrate-, namespace: shop", "a") + job("generateName: migrate-, namespace: blog", "a"),
			objects: []string{"Job blog/migrate-*", "Job shop/migrate-*"},
		},
		{
			name:    "a name wins over it",
			in:      job("generateName: migrate-, name: migrate-1, namespace: shop", "a"),
			objects: []string{"Job shop/migrate-1"},
		},
		{
			name:    "other kinds have it, too",
			in:      "apiVersion: v1\nkind: Namespace\nmetadata: {generateName: preview-}\n---\n" + "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {generateName: web-, namespace: shop}\n",
			objects: []string{"Namespace preview-*", "Ingress shop/web-*"},
		},
	} {
		t.Run(c.name, c.run)
	}
	t.Run("a custom resource", func(t *testing.T) {
		_, snap := read(t, stdin(strings.NewReader("apiVersion: cilium.io/v2\nkind: CiliumNetworkPolicy\nmetadata: {generateName: deny-}\nspec: {endpointSelector: {}, ingress: []}\n")))
		if got := objects(snap); len(got) != 1 || got[0] != "CiliumNetworkPolicy default/deny-*" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a file that is read twice has each once", func(t *testing.T) {
		root := write(t, map[string]string{"a.yaml": job("generateName: migrate-, namespace: shop", "a"), "b.yaml": "-> a.yaml"})
		got, _ := read(t, &manifests.Source{Paths: []string{root, filepath.Join(root, "a.yaml")}})
		if diff := cmp.Diff(reading{objects: []string{"Job shop/migrate-*"}}, got, cmp.AllowUnexported(reading{})); diff != "" {
			t.Error(diff)
		}
	})
}

// A name that was left to a template engine is not a name.
func TestReadNamesThatWereNotFilledIn(t *testing.T) {
	for _, metadata := range []string{
		`{name: "{{ .Release.Name }}", namespace: shop}`, `{name: web, namespace: "{{ .Release.Namespace }}"}`,
		`{name: web, namespace: "${NAMESPACE}"}`, `{generateName: "{{ .Release.Name }}-"}`, `{name: "<%= name %>"}`,
	} {
		streamCase{
			in:       "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: " + metadata + "\n---\n" + namespace("a"),
			objects:  []string{"Namespace a"},
			problems: []string{"document 1: it looks like a template: render it first, for example with helm template"},
		}.run(t)
	}
}

func TestReadObeysOwnerKeys(t *testing.T) {
	in := "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, labels: {owner: team-a, squad: team-b}}\n"
	_, snap := read(t, &manifests.Source{Paths: []string{"-"}, Stdin: strings.NewReader(in), OwnerKeys: []string{"squad"}})
	want := snapshot.OwnerKey{Value: "team-b", Key: "squad"}
	if got := snap.Namespace("a").Owner; got != want {
		t.Errorf("owner %+v, want %+v", got, want)
	}
}

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
			name:    "the items of a typed list have its type where they have none",
			in:      `{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","items":[` + ingress("b") + `,` + ingress("c") + `]}`,
			objects: []string{"Ingress a/b", "Ingress a/c"},
		}, {
			name:    "the items of a typed list may have another type",
			in:      `{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","items":[` + namespaceJSON("a") + `]}`,
			objects: []string{"Namespace a"},
		}, {
			name:    "a List may be in a List",
			in:      nested(8, namespaceJSON("a")),
			objects: []string{"Namespace a"},
		}, {
			name:     "a List too deep in others is a problem",
			in:       nested(9, namespaceJSON("a")),
			problems: []string{"document 1" + strings.Repeat(" item 1", 8) + ": decode List: lists are nested more than 8 deep"},
		}, {
			name:     "an item of a List without a type is a problem, and the others are read",
			in:       `{"apiVersion":"v1","kind":"List","items":[` + ingress("b") + `,` + namespaceJSON("a") + `]}`,
			objects:  []string{"Namespace a"},
			problems: []string{"document 1 item 1: decode object: apiVersion or kind is missing"},
		}, {
			name:     "an item of a List has not the version of the List",
			in:       "apiVersion: v1\nkind: List\nitems: [{kind: Namespace, metadata: {name: a}}]\n",
			problems: []string{"document 1 item 1: decode object: apiVersion or kind is missing"},
		}, {
			name:     "an item that is not a mapping is a problem, and the others are read",
			in:       "apiVersion: v1\nkind: NamespaceList\nitems: [null, 7, {metadata: {name: a}}]\n",
			objects:  []string{"Namespace a"},
			problems: []string{"document 1 item 1: decode object: it is not a mapping", "document 1 item 2: decode object: it is not a mapping"},
		}, {
			name:     "items that are not a list are a problem",
			in:       "apiVersion: v1\nkind: List\nitems: {a: 1}\n",
			problems: []string{"document 1: decode List: items is not a list"},
		}, {
			name:   "a kind that is only called a list is ignored like others",
			in:     "apiVersion: example.com/v1\nkind: AllowList\nspec: {}\n",
			passed: []string{"example.com/v1 AllowList x1"},
		}, {
			name:   "a kind that is not a list may have items of any sort",
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
	if len(got.objects) != 29 || len(got.problems) != 1 || got.problems[0] != "standard input document 1 item 12: decode Namespace: metadata.name is missing" {
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
	// A file in which everything is a problem is not reported as empty.
	dir := write(t, map[string]string{"a.json": list, "b.json": list})
	got, _ = read(t, &manifests.Source{Paths: []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}})
	if last := got.problems[len(got.problems)-1]; last != "elsewhere: 9000 more problems" {
		t.Errorf("of two files the last problem is %q", last)
	}
}

// What a parser would silently ignore either counts or is a problem: a file that was read
// in part must not look complete.
func TestNothingIsIgnoredSilently(t *testing.T) {
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
