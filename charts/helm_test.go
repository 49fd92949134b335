package charts

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/eventuallytrue/audit/e2e/kubetest"
)

var update = flag.Bool("update", false, "write the generated files instead of comparing them")

const (
	chart      = "audit"
	home       = "audit" // the name and namespace of the release
	moduleRoot = ".."
)

// helm runs helm and returns its standard output, with standard error if it fails.
func helm(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs helm")
	}
	tools, err := kubetest.Tools(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "helm"), args...)
	own := t.TempDir() // independent of the user's own settings
	cmd.Env = append(append(os.Environ(), env...), "HELM_CONFIG_HOME="+own, "HELM_CACHE_HOME="+own, "HELM_DATA_HOME="+own)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String() + stderr.String(), err
	}
	return stdout.String(), nil
}

// manifests is the output of "helm template", and its objects by kind and name.
type manifests struct {
	text    string
	objects map[string]*unstructured.Unstructured
}

// values writes a values file and returns the flag of helm for it.
func values(t *testing.T, text string) string { return "--values=" + file(t, text) }

// file writes a text to a temporary file and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	// t.TempDir contains the name of the test, and helm and kubectl split paths at a
	// comma.
	dir, err := os.MkdirTemp("", "charts")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "file.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// render returns the manifests of the chart for the given values.
func render(t *testing.T, text string) manifests {
	t.Helper()
	out, err := helm(t, nil, "template", home, chart, "--namespace", home, values(t, text))
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, out)
	}
	m := manifests{out, map[string]*unstructured.Unstructured{}}
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(out))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return m
		}
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &o.Object); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if len(o.Object) == 0 {
			continue
		}
		key := o.GetKind() + "/" + o.GetName()
		if m.objects[key] != nil {
			t.Errorf("%s is rendered twice", key)
		}
		m.objects[key] = o
	}
}

// as converts an object to its type. Unknown fields are an error.
func as[T any](t *testing.T, m manifests, key string) *T {
	t.Helper()
	o := m.objects[key]
	if o == nil {
		t.Fatalf("%s is missing", key)
	}
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, into, true); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return into
}
