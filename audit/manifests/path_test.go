package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

func TestReadFolder(t *testing.T) {
	a, b := namespace("a"), namespace("b")
	both := []string{"Namespace a", "Namespace b"}
	for _, c := range []struct {
		name     string
		files    map[string]string // a value that begins with "-> " is a link
		path     string            // below the folder of the files; empty for itself
		objects  []string
		problems []string // with the folder cut off
	}{
		{
			name:     "an empty folder is a problem, for it may be the wrong one",
			files:    map[string]string{"README.md": a},
			problems: []string{": it contains no object and no list"},
		}, {
			name: "folders below are read, and only what is called a manifest",
			files: map[string]string{
				"a.yaml": a, "sub/deep/b.yml": b, "c.json": namespaceJSON("c"), "d.yaml.bak": namespace("d"),
				"e": namespace("e"), "f.YAML": namespace("f"), "yaml": namespace("g"),
			},
			objects: append(both, "Namespace c"),
		}, {
			name:    "what a file holds counts and not how it is called",
			files:   map[string]string{"a.yaml": namespaceJSON("a"), "b.json": b},
			objects: both,
		}, {
			name:    "a file is read whatever its name, where it is named itself",
			files:   map[string]string{"a.txt": a, "b.yaml": b},
			path:    "a.txt",
			objects: []string{"Namespace a"},
		}, {
			name:    "a hidden folder is passed over",
			files:   map[string]string{".github/b.yaml": b, "sub/.argo/b.yaml": b, "a.yaml": a},
			objects: []string{"Namespace a"},
		}, {
			name:    "a hidden folder is read where it is named itself, and so is a hidden file",
			files:   map[string]string{".config/.a.yaml": a},
			path:    ".config",
			objects: []string{"Namespace a"},
		}, {
			name:    "a folder called like a manifest is a folder",
			files:   map[string]string{"x.yaml/a.yaml": a, "x.yaml/b.txt": b},
			objects: []string{"Namespace a"},
		}, {
			name:    "a link to a file is read, wherever the file is",
			files:   map[string]string{"outside/b.yaml": b, "in/a.yaml": a, "in/b.yaml": "-> ../outside/b.yaml"},
			path:    "in",
			objects: both,
		}, {
			name:    "a link to a folder inside a folder is not followed",
			files:   map[string]string{"outside/b.yaml": b, "in/a.yaml": a, "in/more": "-> ../outside"},
			path:    "in",
			objects: []string{"Namespace a"},
		}, {
			name:    "a link to a folder is not followed either where it is called like a manifest",
			files:   map[string]string{"outside/b.txt": b, "in/a.yaml": a, "in/b.yaml": "-> ../outside"},
			path:    "in",
			objects: []string{"Namespace a"},
		}, {
			name:    "a link to a folder is followed where it is named itself",
			files:   map[string]string{"outside/a.yaml": a, "in": "-> outside"},
			path:    "in",
			objects: []string{"Namespace a"},
		}, {
			name:     "a file that cannot be opened is named, and the others are read",
			files:    map[string]string{"a.yaml": a, "b.yaml": b, "ab.yaml": "-> nowhere", "loop.yaml": "-> loop.yaml"},
			objects:  both,
			problems: []string{"/ab.yaml: no such file or directory", "/loop.yaml: too many levels of symbolic links"},
		}, {
			name:     "a path that is not there is named",
			files:    map[string]string{"a.yaml": a},
			path:     "b.yaml",
			problems: []string{"/b.yaml: no such file or directory"},
		}, {
			name:    "a document that does not parse is named by file and number",
			files:   map[string]string{"a.yaml": a, "sub/bad.yaml": a + "---\n}\n---\n" + b, "z.yaml": "kind: }\napiVersion: v1"},
			objects: both,
			problems: []string{
				"/sub/bad.yaml document 2: parse YAML: yaml: line 1: did not find expected node content",
				"/z.yaml document 1: parse YAML: yaml: did not find expected node content",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := write(t, c.files)
			got, _ := read(t, &manifests.Source{Paths: []string{filepath.Join(root, c.path)}})
			for i, p := range got.problems {
				got.problems[i] = strings.TrimPrefix(p, root)
			}
			want := reading{objects: c.objects, problems: c.problems}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

// The last of two equal objects counts, so the order of files shows in them.
func TestReadFolderInLexicalOrder(t *testing.T) {
	class := func(name string) string {
		return object("networking.k8s.io/v1", "Ingress", "web") + "spec: {ingressClassName: " + name + "}\n"
	}
	classOf := func(paths ...string) string {
		_, snap := read(t, &manifests.Source{Paths: paths})
		for f := range snap.View(snapshot.Ingresses).Ingresses() {
			return f.Class
		}
		return ""
	}
	root := write(t, map[string]string{
		"10.yaml": class("ten"), "9.yaml": class("nine"), "B/z.yaml": class("capital"), "a/1.yaml": class("folder"), "a.yaml": class("file"),
	})
	if got := classOf(root); got != "file" {
		t.Errorf("the last file has class %q, want that of a.yaml, behind the folder a", got)
	}
	if got := classOf(filepath.Join(root, "a"), filepath.Join(root, "10.yaml")); got != "ten" {
		t.Errorf("the last path has class %q, want that of the path named last", got)
	}
}

// A mounted ConfigMap holds each file in a folder with a date for a name, a link
// to that folder, and a link through it for each file.
func TestReadMountedConfigMapOnce(t *testing.T) {
	root := write(t, map[string]string{
		"..2027_01_15_12_00_00.123456789/a.yaml": namespace("a"),
		"..2027_01_15_12_00_00.123456789/b.yaml": namespace("b"),
		"..data":                                 "-> ..2027_01_15_12_00_00.123456789",
		"a.yaml":                                 "-> ..data/a.yaml",
		"b.yaml":                                 "-> ..data/b.yaml",
	})
	for _, path := range []string{root, filepath.Join(root, "..data")} {
		got, snap := read(t, &manifests.Source{Paths: []string{path}})
		if diff := cmp.Diff([]string{"Namespace a", "Namespace b"}, got.objects); diff != "" {
			t.Errorf("%s (-want +got):\n%s", filepath.Base(path), diff)
		}
		for _, r := range snap.Reads() {
			if r.Kind == snapshot.Namespaces && r.Items != 2 {
				t.Errorf("%s: %d Namespaces were read, want each once", filepath.Base(path), r.Items)
			}
		}
	}
}

// A folder may be deeper than the system can name.
func TestReadFolderThatCannotBeListed(t *testing.T) {
	dir := write(t, map[string]string{"z.yaml": namespace("a")})
	at, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.Repeat("deep", 60)
	for range 20 {
		if err := at.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		below, err := at.OpenRoot(name)
		at.Close()
		if err != nil {
			t.Fatal(err)
		}
		at = below
	}
	at.Close()
	got, _ := read(t, &manifests.Source{Paths: []string{dir}})
	if diff := cmp.Diff([]string{"Namespace a"}, got.objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if len(got.problems) != 1 || !strings.HasPrefix(got.problems[0], filepath.Join(dir, name)) ||
		!strings.HasSuffix(got.problems[0], ": file name too long") {
		t.Errorf("problems %q", got.problems)
	}
}
