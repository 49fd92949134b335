package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPageIsUpToDate(t *testing.T) {
	want, err := page("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../THIRD_PARTY_LICENSES.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Errorf("THIRD_PARTY_LICENSES.md (make generate writes it):\n%s", diff)
	}
}

// A licence that asks for more than that its text is passed on is for people to
// decide on before the module is used.
func TestEveryLicenceIsPermissive(t *testing.T) {
	parts, err := builtOf("../..")
	if err != nil {
		t.Fatal(err)
	}
	if parts[0].name != audit || parts[1].name != goLibrary || len(parts) < 10 {
		t.Errorf("the parts are %d, and begin with %s and %s", len(parts), parts[0].name, parts[1].name)
	}
	for _, p := range parts {
		if err := p.read(); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		for _, id := range p.ids {
			if !slices.Contains([]string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}, id) {
				t.Errorf("%s is under %s", p.name, id)
			}
		}
	}
}

func TestReadLicences(t *testing.T) {
	mit, err := os.ReadFile(filepath.Join("testdata", "MIT.txt"))
	if err != nil {
		t.Fatal(err)
	}
	gpl := "This program is free software: you can redistribute it and/or modify it under the terms of the GNU General Public License."
	for _, c := range []struct {
		name  string
		files map[string]string
		ids   string
		texts int
		err   string
	}{
		{"a licence", map[string]string{"LICENSE": string(mit)}, "MIT", 1, ""},
		{"one spelled otherwise, and a notice", map[string]string{"Licence.md": string(mit), "NOTICE": "of whom"}, "MIT", 2, ""},
		{"one above the package, and the same beside it", map[string]string{"LICENSE": string(mit), "a/b/COPYING": string(mit)}, "MIT", 1, ""},
		{"line ends of Windows", map[string]string{"LICENSE": string(mit), "a/LICENSE": strings.ReplaceAll(string(mit), "\n", "\r\n")}, "MIT", 1, ""},
		{"none", map[string]string{"README.md": string(mit)}, "", 0, "there is none"},
		{"one in a folder that is not built", map[string]string{"docs/LICENSE": string(mit)}, "", 0, "there is none"},
		{"code that is called so", map[string]string{"license.go": string(mit)}, "", 0, "there is none"},
		{"a notice alone", map[string]string{"NOTICE": string(mit)}, "", 1, "there is none"},
		{"words that are no licence", map[string]string{"LICENSE": gpl + strings.Repeat(" Do what you like with it.", 50)}, "", 1, "LICENSE is none that is known"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o755); err != nil {
				t.Fatal(err)
			}
			parts := map[string]*part{}
			add(parts, part{name: "m", root: root}, filepath.Join(root, "a", "b"))
			p := parts["m"]
			err := p.read()
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasSuffix(err.Error(), c.err)) {
				t.Fatalf("got the error %v, want %q", err, c.err)
			}
			if got := strings.Join(p.ids, " "); got != c.ids || len(p.texts) != c.texts {
				t.Errorf("found %q in %d texts, want %q in %d", got, len(p.texts), c.ids, c.texts)
			}
		})
	}
}
