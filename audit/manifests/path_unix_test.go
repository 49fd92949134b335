//go:build unix

package manifests_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/manifests"
)

// A pipe without a writer would keep a sweep waiting.
func TestReadFolderDoesNotWaitForAPipe(t *testing.T) {
	root := write(t, map[string]string{"a.yaml": namespace("a")})
	pipe := filepath.Join(root, "b.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got, _ := read(t, &manifests.Source{Paths: []string{root}})
	want := reading{objects: []string{"Namespace a"}, problems: []string{pipe + ": it is not a regular file"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reading{})); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// Opening and closing a pipe would signal to its writer that there is no reader.
func TestReadPipeThatIsNamedItself(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, []byte(namespace("a")), 0o600) }()
	source := &manifests.Source{Paths: []string{pipe}}
	if err := source.Check(); err != nil {
		t.Fatal(err)
	}
	got, _ := read(t, source)
	if diff := cmp.Diff(reading{objects: []string{"Namespace a"}}, got, cmp.AllowUnexported(reading{})); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
