package manifests_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/manifests"
)

func TestCheck(t *testing.T) {
	root := write(t, map[string]string{"a.yaml": namespace("a"), "gone.yaml": "-> nowhere"})
	path := func(name string) string { return filepath.Join(root, name) }
	for _, c := range []struct {
		name  string
		paths []string
		want  string // without the folder; empty for no error
	}{
		{name: "a file, a folder and the standard input can be read", paths: []string{path("a.yaml"), root, "-"}},
		{name: "a path that is not there cannot", paths: []string{root, path("b.yaml")}, want: "read manifests: open /b.yaml: no such file or directory"},
		{name: "a link to nowhere cannot", paths: []string{path("gone.yaml")}, want: "read manifests: open /gone.yaml: no such file or directory"},
		{name: "an empty path is none", paths: []string{""}, want: "read manifests: open : no such file or directory"},
		{
			name: "all that cannot be read is named at once", paths: []string{path("b"), path("a.yaml"), path("c")},
			want: "read manifests: open /b: no such file or directory\nread manifests: open /c: no such file or directory",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := (&manifests.Source{Paths: c.paths}).Check()
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), root, "")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
