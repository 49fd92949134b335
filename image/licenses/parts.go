package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// part is a module that the binary has packages of, the Go library, or audit
// itself.
type part struct {
	name, version string
	root          string          // the folder of the module
	folders       map[string]bool // those of its packages that are in the binary
	ids           []string        // SPDX identifiers, sorted
	texts         []string        // licences and notices, as they stand in their files
}

// platforms are those that the image is made for.
func platforms() []string { return []string{"amd64", "arm64"} }

// builtOf returns the parts of the binary that images hold, sorted by name: audit
// first, then the Go library, then modules.
func builtOf(root string) ([]part, error) {
	byName := map[string]*part{}
	for _, arch := range platforms() {
		if err := list(root, arch, byName); err != nil {
			return nil, fmt.Errorf("list the packages for %s: %w", arch, err)
		}
	}
	var parts []part
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		parts = append(parts, *byName[name])
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.place(), b.place()) })
	return parts, nil
}

// What is no module, by name.
const (
	audit     = "github.com/eventuallytrue/audit"
	goLibrary = "The Go standard library"
)

func (p part) place() int {
	switch p.name {
	case audit:
		return 0
	case goLibrary:
		return 1
	}
	return 2
}

// list adds the parts of the binary for one kind of machine.
func list(root, arch string, to map[string]*part) error {
	cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Root,Module", "./cmd/audit")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir, Root string
			Standard  bool
			Module    *struct {
				Path, Version, Dir string
				Replace            *struct{ Path string }
			}
		}
		err := d.Decode(&p)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case p.Standard:
			// Which release of Go builds is for the builder to choose.
			add(to, part{name: goLibrary, root: p.Root}, p.Root)
		case p.Module == nil || p.Module.Replace != nil:
			return fmt.Errorf("%s is of no module that can be fetched by its name", p.Dir)
		default:
			add(to, part{name: p.Module.Path, version: p.Module.Version, root: p.Module.Dir}, p.Dir)
		}
	}
}

// add notes a package's folder, and those that it is in.
func add(to map[string]*part, p part, folder string) {
	known, ok := to[p.name]
	if !ok {
		known = &p
		known.folders = map[string]bool{}
		to[p.name] = known
	}
	for ; len(folder) >= len(p.root); folder = filepath.Dir(folder) {
		known.folders[folder] = true
	}
}
