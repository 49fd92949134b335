package manifests_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/manifests"
	"github.com/eventuallytrue/audit/rules/catalog"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// reading is what came of reading some manifests, in words.
type reading struct {
	objects  []string // such as "Ingress shop/web"
	problems []string // such as "a.yaml document 1: parse YAML: ..."
	faults   []string // such as "Ingress shop/web: decode Ingress: ..."
	passed   []string // such as "v1 ConfigMap x2", sorted
}

// read reads the source for all rules and returns the snapshot as well.
func read(t testing.TB, s *manifests.Source) (reading, *snapshot.Snapshot) {
	t.Helper()
	var b snapshot.Builder
	got, err := s.Read(t.Context(), audit.Needs(catalog.All()), &b)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	snap := b.Freeze()
	out := reading{objects: objects(snap)}
	for _, p := range got.Problems {
		out.problems = append(out.problems, p.Where+": "+p.Reason)
	}
	for _, f := range snap.Faults() {
		out.faults = append(out.faults, f.String()+": "+f.Reason)
	}
	for _, p := range got.Ignored {
		apiVersion := strings.TrimPrefix(p.Group+"/"+p.Version, "/")
		out.passed = append(out.passed, fmt.Sprintf("%s %s x%d", apiVersion, p.Kind, p.Items))
	}
	slices.Sort(out.passed)
	return out, snap
}

// objects returns all objects of a snapshot, by kind as kubectl gets them.
func objects(s *snapshot.Snapshot) []string {
	v := s.View(audit.Needs(catalog.All())...)
	var out []string
	for f := range v.Namespaces() {
		out = append(out, f.Ref().String())
	}
	for f := range v.IngressClasses() {
		out = append(out, f.Ref().String())
	}
	for f := range v.Ingresses() {
		out = append(out, f.Ref().String())
	}
	for f := range v.Policies() {
		out = append(out, f.Ref().String())
	}
	for f := range v.Workloads() {
		out = append(out, f.Ref().String())
	}
	for f := range v.Pods() {
		out = append(out, f.Ref().String())
	}
	return out
}

// stdin returns a source that reads the standard input.
func stdin(in io.Reader) *manifests.Source {
	return &manifests.Source{Paths: []string{"-"}, Stdin: in}
}

// streamCase is one sentence of how a stream is read.
type streamCase struct {
	name     string
	in       string
	objects  []string
	problems []string // without "standard input " before each
	faults   []string // without "standard input "
	passed   []string
}

func (c streamCase) run(t *testing.T) {
	got, _ := read(t, stdin(strings.NewReader(c.in)))
	for i, p := range got.problems {
		got.problems[i] = strings.TrimPrefix(p, "standard input ")
	}
	for i, f := range got.faults {
		got.faults[i] = strings.ReplaceAll(f, "standard input ", "")
	}
	want := reading{objects: c.objects, problems: c.problems, faults: c.faults, passed: c.passed}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// write writes files below a new folder and returns the folder. A value that
// begins with "-> " is a link.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// namespace is the manifest of a Namespace, in YAML.
func namespace(name string) string {
	return "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + name + "\n"
}

// namespaceJSON is the manifest of a Namespace, in JSON.
func namespaceJSON(name string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
}

// FuzzRead checks that any stream is read to its end without a panic, with the same
// result each time; that each problem says where and why, in one line; and that every
// object is counted.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", "---", "...", "{", "[", "\ufeff", "null", "~", "\x00", "\xff\xfe", "\xfe\xff\x00", "{}\n{}", "- - -", "? a", "*a", "&a *a", "!!binary x",
		namespace("a"), namespaceJSON("a") + namespaceJSON("b"), "---\n" + namespace("a") + "...\n%YAML 1.1\n---\n" + namespace("b"),
		"a: 1\r---\rb: 2", "  a: 1\nb: 2", "... # a\n--- # b\n", "--- {a: 1}\n", "{a: 1}\n{b: 2}", "x: &a [*a]\n", bomb(4),
		nested(9, namespaceJSON("a")), inUTF16(namespace("a"), binary.LittleEndian),
		object("extensions/v1beta1", "Ingress", "web") + "spec: {backend: {}, rules: [{host: \"\"}], tls: [{}]}\n",
		object("networking.k8s.io/v1", "NetworkPolicy", "deny") + "spec: {podSelector: {}, ingress: [{from: [{ipBlock: {cidr: ::/0}}], ports: [{port: http}]}]}\n",
		object("batch/v1", "CronJob", "nightly") + "spec: {jobTemplate: {spec: {template: {spec: {hostNetwork: true}}}}}\n",
		`{"apiVersion":"networking.k8s.io/v1","kind":"IngressList","items":[null,{"metadata":{"name":"a"}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, snap := read(t, stdin(bytes.NewReader(data)))
		again, _ := read(t, stdin(bytes.NewReader(data)))
		if diff := cmp.Diff(got, again, cmp.AllowUnexported(reading{})); diff != "" {
			t.Errorf("read twice (-first +second):\n%s", diff)
		}
		for _, p := range got.problems {
			where, why, _ := strings.Cut(p, ": ")
			if where != "standard input" && !strings.HasPrefix(where, "standard input document ") || why == "" || strings.ContainsAny(p, "\r\n") {
				t.Errorf("problem %q", p)
			}
		}
		counted := 0
		for _, r := range snap.Reads() {
			counted += r.Items
		}
		if counted < len(got.objects) {
			t.Errorf("%d objects, of which %d were counted", len(got.objects), counted)
		}
	})
}

// inUTF16 returns a text as PowerShell writes what kubectl prints.
func inUTF16(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestReadUTF16(t *testing.T) {
	text := namespace("a") + "---\n" + namespace("b") + "# \u0d0a \U0001f512\n"
	both := []string{"Namespace a", "Namespace b"}
	for _, c := range []streamCase{
		{name: "YAML with the low byte first", in: inUTF16(text, binary.LittleEndian), objects: both},
		{name: "YAML with the high byte first", in: inUTF16(text, binary.BigEndian), objects: both},
		{name: "several JSON values", in: inUTF16(namespaceJSON("a")+"\n"+namespaceJSON("b"), binary.LittleEndian), objects: both},
	} {
		t.Run(c.name, c.run)
	}
}
