package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryModuleIsListed compares the document with what go list reports for the
// binary of each architecture.
func TestEveryModuleIsListed(t *testing.T) {
	out := filepath.Join(t.TempDir(), "licenses.md")
	if err := run("../../..", out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	table, texts, _ := strings.Cut(string(data), "\n\n## ")
	texts = "## " + texts
	for _, arch := range platforms() {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}} | {{.Version}} | {{end}}", "./cmd/audit")
		cmd.Dir = "../../.."
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		modules, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(modules)) {
			row := strings.TrimSpace(line)
			if row == "" {
				continue // a package of the standard library
			}
			module, _, _ := strings.Cut(row, " |")
			heading := regexp.MustCompile(`(?m)^## (.*, )?` + regexp.QuoteMeta(module) + `(,|$)`)
			if !strings.Contains(table, "\n| "+row+" ") || !heading.MatchString(texts) {
				t.Errorf("%s has no row or no text", row)
			}
		}
	}
	for _, want := range []string{"\n| " + goLibrary + " |  | BSD-3-Clause |\n", "\n| " + audit + " |  | Apache-2.0 |\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no row %q", want)
		}
	}
}

// A person must decide about a license that requires more than passing on its text
// before the module is used.
func TestEveryLicenseIsPermissive(t *testing.T) {
	parts, err := partsOf("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if parts[0].name != audit || parts[1].name != goLibrary || len(parts) < 10 {
		t.Errorf("got %d parts, the first are %s and %s", len(parts), parts[0].name, parts[1].name)
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

func TestReadLicenses(t *testing.T) {
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
		{"a license", map[string]string{"LICENSE": string(mit)}, "MIT", 1, ""},
		{"another spelling, and a notice", map[string]string{"Licence.md": string(mit), "NOTICE": "a notice"}, "MIT", 2, ""},
		{"the same license in the root and beside the package", map[string]string{"LICENSE": string(mit), "a/b/COPYING": string(mit)}, "MIT", 1, ""},
		{"Windows line endings", map[string]string{"LICENSE": string(mit), "a/LICENSE": strings.ReplaceAll(string(mit), "\n", "\r\n")}, "MIT", 1, ""},
		{"none", map[string]string{"README.md": string(mit)}, "", 0, "no license found"},
		{"in a folder without packages of the binary", map[string]string{"docs/LICENSE": string(mit)}, "", 0, "no license found"},
		{"a Go file named license", map[string]string{"license.go": string(mit)}, "", 0, "no license found"},
		{"only a notice", map[string]string{"NOTICE": string(mit)}, "", 1, "no license found"},
		{"an unknown license", map[string]string{"LICENSE": gpl + strings.Repeat(" Do what you like with it.", 50)}, "", 1, "LICENSE is not a known license"},
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
				t.Fatalf("got error %v, want %q", err, c.err)
			}
			if got := strings.Join(p.ids, " "); got != c.ids || len(p.texts) != c.texts {
				t.Errorf("found %q in %d texts, want %q in %d", got, len(p.texts), c.ids, c.texts)
			}
		})
	}
}
