package manifests_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// notes returns what is said of the source as a whole, without the folder of the
// files.
func notes(t *testing.T, s *manifests.Source, root string) []string {
	t.Helper()
	got, err := s.Read(t.Context(), audit.Needs(catalog.All()), new(snapshot.Builder))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, note := range got.Notes {
		out = append(out, strings.ReplaceAll(note, root+"/", ""))
	}
	return out
}

const (
	values   = "replicaCount: 1\nimage: {tag: \"1\"}\n"
	workflow = "name: ci\non: push\njobs: {}\n"
	template = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: {{ .Release.Name }}\n"
)

// A repository has much in it that is not an object.
func TestReadRepository(t *testing.T) {
	a := namespace("a")
	for _, c := range []struct {
		name     string
		files    map[string]string
		objects  []string
		problems []string // without the folder
		says     []string
	}{
		{
			name: "files that have no object are passed over and counted",
			files: map[string]string{
				"a.yaml": a, "values.yaml": values, "ci.yml": workflow, "package.json": `{"name": "shop"}`, "list.yaml": "- op: add\n",
				"chart/Chart.yaml": "apiVersion: v2\nname: shop\n", "drone.yml": "kind: pipeline\ntype: docker\n", "empty.yaml": "", "comment.yaml": "# later\n",
				"text.yaml": "hello\n",
			},
			objects: []string{"Namespace a"},
			says: []string{
				"1 folder has a Helm chart (chart/Chart.yaml): render first with helm template, and sweep its output",
				"9 files without apiVersion and kind were passed over, for example chart/Chart.yaml",
			},
		}, {
			name: "and so are those that do not parse, if they name no apiVersion and kind",
			files: map[string]string{
				"a.yaml": a, "tsconfig.json": "{\n  // strict\n  \"strict\": true\n}", "broken.yml": "a: b: c\n", "action.yml": "run: a: ${{ inputs.x }}\n",
			},
			objects: []string{"Namespace a"},
			says:    []string{"3 files without apiVersion and kind were passed over, for example action.yml"},
		}, {
			name: "a file that does not parse may have had an object",
			files: map[string]string{
				"a.yaml": a, "b.yaml": "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: b\n",
				"c.json": "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {", "d.yaml": "apiVersion: example.com/v1\nkind: Shop\nspec: {\n",
			},
			objects: []string{"Namespace a"},
			problems: []string{
				"b.yaml document 1: parse YAML: yaml: line 3: did not find expected ',' or '}'",
				"c.json document 1: parse JSON: unexpected EOF; what follows was not read",
				"d.yaml document 1: parse YAML: yaml: line 3: did not find expected node content",
			},
		}, {
			name:    "an object that lost its kind, a list of objects and a document among objects are problems",
			files:   map[string]string{"a.yaml": a + "---\n" + values, "b.yaml": "apiVersion: v1\nmetadata: {name: b}\n", "c.json": "[" + namespaceJSON("c") + "]"},
			objects: []string{"Namespace a"},
			problems: []string{
				"a.yaml document 2: decode object: apiVersion or kind is missing", "b.yaml document 1: decode object: apiVersion or kind is missing",
				"c.json document 1: decode object: it is not a mapping",
			},
		}, {
			name: "a template is to be rendered first, and the ones that lost an object that rules evaluate come first",
			files: map[string]string{
				"a.yaml": a, "b.yaml": "{{ include \"common.ingress\" . }}\n", "c.yaml": template, "d.yaml": "{% if x %}\n- a\n{% endif %}\n",
				"e.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: e}\nspec: {replicas: \"{{ .Values.replicas }}\"}\n",
				"f.yaml": "{{- if .Values.on }}\napiVersion: {{ include \"version\" . }}\nkind: Ingress\n{{- end }}\n",
				"g.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n",
			},
			objects: []string{"Namespace a"},
			problems: []string{
				"c.yaml document 1: it looks like a template: render it first, for example with helm template",
				"e.yaml document 1: it looks like a template: render it first, for example with helm template",
				"f.yaml document 1: it looks like a template: render it first, for example with helm template",
				"b.yaml document 1: it looks like a template: render it first, for example with helm template",
				"d.yaml document 1: it looks like a template: render it first, for example with helm template",
				"g.yaml document 1: it looks like a template: render it first, for example with helm template",
			},
		}, {
			name: "text in braces is no template where the object can be read",
			files: map[string]string{
				"a.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, annotations: {note: \"{{ $labels.x }}\"}}\n",
			},
			objects: []string{"Namespace a"},
		}, {
			name: "objects without a namespace and folders with a kustomization",
			files: map[string]string{
				"shop/kustomization.yaml": "namespace: shop\n", "blog/kustomization.yml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
				"wiki/Kustomization": "namespace: wiki\n",
				"shop/app.yaml":      "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: shop}\n",
				"again.yaml":         "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: shop, namespace: default}\n",
			},
			objects: []string{"Ingress default/shop"},
			says: []string{
				"3 folders have a kustomization, which may set namespaces and other fields (blog/kustomization.yml): render first with kustomize build, and sweep its output",
				"1 file without apiVersion and kind was passed over, for example shop/kustomization.yaml",
			},
		}, {
			name: "workloads of kinds that are not evaluated",
			files: map[string]string{
				"a.yaml": a, "rollout.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\nspec: {workloadRef: {kind: Deployment}}\n",
				"vm.yaml":  "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: vm}\n",
				"new.yaml": "apiVersion: example.com/v1\nkind: Runner\nspec: {main: {podTemplate: {spec: {containers: [{image: a}]}}}}\n---\napiVersion: example.com/v1\nkind: Runner\nspec: {groups: [{template: {spec: {containers: [{image: a}]}}}]}\n",
				"crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {template: {spec: {properties: {containers: {type: array}}}}}\n",
				"rev.yaml": "apiVersion: apps/v1\nkind: ControllerRevision\ndata: {spec: {template: {spec: {containers: [{image: a}]}}}}\n",
				"kyv.yaml": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec: {rules: [{mutate: {template: {spec: {containers: [{image: a}]}}}}]}\n",
			},
			objects: []string{"Namespace a"},
			says:    []string{"workloads of kinds that are not evaluated: 1 Rollout, 2 Runner, 1 VirtualMachine"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := write(t, c.files)
			src := &manifests.Source{Paths: []string{root}}
			got, _ := read(t, src)
			for i, p := range got.problems {
				got.problems[i] = strings.TrimPrefix(p, root+"/")
			}
			got.passed = nil
			if diff := cmp.Diff(reading{objects: c.objects, problems: c.problems}, got, cmp.AllowUnexported(reading{})); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.says, notes(t, src, root)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// Who names a file means its content, so a file without an object is a slip.
func TestReadNamedFileWithoutAnObject(t *testing.T) {
	root := write(t, map[string]string{"values.yaml": values, "empty.yaml": "", "sub/values.yaml": values})
	for name, want := range map[string]string{
		"values.yaml": "values.yaml document 1: decode object: apiVersion or kind is missing",
		"empty.yaml":  "empty.yaml: it contains no object and no list",
		"sub":         "sub: it contains no object and no list",
	} {
		got, _ := read(t, &manifests.Source{Paths: []string{filepath.Join(root, name)}})
		if len(got.problems) != 1 || strings.TrimPrefix(got.problems[0], root+"/") != want {
			t.Errorf("%s: problems %q, want %q", name, got.problems, want)
		}
	}
}

func TestReadDefaultNamespace(t *testing.T) {
	in := "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n---\n" +
		"apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\n---\n" + // the same
		"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\n---\n" +
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n---\n" + namespace("a")
	for _, c := range []struct{ namespace, says, object string }{
		{"", "2 objects name no namespace and were taken for namespace default: --default-namespace sets another", "Ingress default/a"},
		{"shop", "2 objects name no namespace and were taken for namespace shop: --default-namespace sets another", "Ingress shop/a"},
	} {
		src := func() *manifests.Source {
			return &manifests.Source{Paths: []string{"-"}, Stdin: strings.NewReader(in), DefaultNamespace: c.namespace}
		}
		if got := notes(t, src(), ""); !slices.Equal(got, []string{c.says}) {
			t.Errorf("notes %q", got)
		}
		if got, _ := read(t, src()); !slices.Contains(got.objects, c.object) {
			t.Errorf("objects %q", got.objects)
		}
	}
}

func TestReadExcludes(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"a", "charts/b", "charts/deep/b2", "charts/deep/templates/c", "node_modules/d", "sub/node_modules/e", "sub/x-test"} {
		files[name+".yaml"] = namespace(strings.ReplaceAll(name[strings.LastIndex(name, "/")+1:], "_", "-"))
	}
	for _, c := range []struct {
		patterns []string
		left     []string
		says     []string
	}{
		{[]string{"node_modules"}, []string{"a", "b", "b2", "c", "x-test"}, []string{"2 files and folders were left out by --exclude, for example node_modules"}},
		{[]string{"/node_modules"}, []string{"a", "b", "b2", "c", "e", "x-test"}, []string{"1 file or folder was left out by --exclude, for example node_modules"}},
		{[]string{"*-test.yaml", "charts/"}, []string{"a", "d", "e"}, []string{"2 files and folders were left out by --exclude, for example charts"}},
		{[]string{"charts/**/templates"}, []string{"a", "b", "b2", "d", "e", "x-test"}, []string{"1 file or folder was left out by --exclude, for example charts/deep/templates"}},
		{[]string{"charts/**"}, []string{"a", "d", "e", "x-test"}, []string{"2 files and folders were left out by --exclude, for example charts/b.yaml"}},
		{[]string{"./charts/*.yaml"}, []string{"a", "b2", "c", "d", "e", "x-test"}, []string{"1 file or folder was left out by --exclude, for example charts/b.yaml"}},
		{[]string{"**/node_modules/*.yaml"}, []string{"a", "b", "b2", "c", "x-test"}, []string{"2 files and folders were left out by --exclude, for example node_modules/d.yaml"}},
		{[]string{"a.yaml/", "vendor"}, []string{"a", "b", "b2", "c", "d", "e", "x-test"}, []string{"--exclude a.yaml/ matches nothing", "--exclude vendor matches nothing"}},
	} {
		t.Run(strings.Join(c.patterns, " "), func(t *testing.T) {
			root := write(t, files)
			src := &manifests.Source{Paths: []string{root}, Exclude: c.patterns}
			got, _ := read(t, src)
			var want []string
			for _, name := range c.left {
				want = append(want, "Namespace "+name)
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, got.objects); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.says, notes(t, src, root)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckSettings(t *testing.T) {
	for want, s := range map[string]*manifests.Source{
		`--exclude: pattern "[a": syntax error in pattern`: {Exclude: []string{"b", "[a"}},
		`--exclude: pattern "/" matches nothing`:           {Exclude: []string{"/"}},
		`--default-namespace: "a.b" is not the name of a`:  {DefaultNamespace: "a.b"},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
