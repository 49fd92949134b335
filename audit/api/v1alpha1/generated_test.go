package v1alpha1_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var directive = regexp.MustCompile(`(?m)^//go:generate go (run .*) output:dir=\.$`)

func TestGeneratedFilesAreNotStale(t *testing.T) {
	if testing.Short() {
		t.Skip("needs controller-gen")
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	command := directive.FindSubmatch(doc)
	if command == nil {
		t.Fatal("doc.go does not say how the files are generated")
	}
	dir := t.TempDir()
	args := append(strings.Fields(string(command[1])), "output:dir="+dir)
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("generate: %v\n%s", err, out)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("generated %v, %v", files, err)
	}
	for _, f := range files {
		want, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s is stale: run make generate (-want +got):\n%s", f.Name(), diff)
		}
	}
}
