package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// part is a module with packages in the binary, the Go standard library, or audit
// itself.
type part struct {
	name, version string
	root          string          // the folder of the module
	folders       map[string]bool // of its packages in the binary, and their parents
	ids           []string        // SPDX identifiers, sorted
	texts         []string        // of its licenses and notices
}

// platforms are the architectures of the images.
func platforms() []string { return []string{"amd64", "arm64"} }

// partsOf returns the parts of the binary in the images: audit first, then the
// standard library, then the modules by name.
func partsOf(root string) ([]part, error) {
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
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.order(), b.order()) })
	return parts, nil
}

// The names of the parts that come before the modules.
const (
	audit     = "github.com/eventuallytrue/audit"
	goLibrary = "The Go standard library"
)

func (p part) order() int {
	switch p.name {
	case audit:
		return 0
	case goLibrary:
		return 1
	}
	return 2
}

// list adds the parts of the binary for one architecture.
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
			// No version: the Go release is chosen when the image is built.
			add(to, part{name: goLibrary, root: p.Root}, p.Root)
		case p.Module == nil || p.Module.Replace != nil:
			return fmt.Errorf("%s is not in a module that can be downloaded by its name", p.Dir)
		default:
			add(to, part{name: p.Module.Path, version: p.Module.Version, root: p.Module.Dir}, p.Dir)
		}
	}
}

// add records a package's folder and its parents up to the module's root.
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

var (
	license = regexp.MustCompile(`(?i)^(licen[cs]e|copying)([-._].*)?$`)
	notice  = regexp.MustCompile(`(?i)^(notice|patents|copyright)([-._].*)?$`)
)

// read collects the licenses and notices in the folders of a part.
func (p *part) read() error {
	for _, folder := range slices.Sorted(maps.Keys(p.folders)) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.IsDir() || !license.MatchString(e.Name()) && !notice.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
				continue
			}
			if err := p.add(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	if len(p.ids) == 0 {
		return errors.New("no license found")
	}
	slices.Sort(p.ids)
	p.ids = slices.Compact(p.ids)
	return nil
}

// known is the minimum share, in percent, of a license file that must match the text
// of known licenses.
const known = 75

// add adds the text of one file and identifies its licenses.
func (p *part) add(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
	if !slices.Contains(p.texts, text) {
		p.texts = append(p.texts, text)
	}
	if !license.MatchString(filepath.Base(path)) {
		return nil
	}
	found := licensecheck.Scan(data)
	if found.Percent < known {
		return fmt.Errorf("%s is not a known license", path)
	}
	for _, m := range found.Match {
		if !m.IsURL {
			p.ids = append(p.ids, m.ID)
		}
	}
	return nil
}

const head = `# Third-party licenses

The audit binary contains code from these modules.

| module | version | license |
|---|---|---|
`

// format returns the document: a table, then each text once with the modules that it
// applies to.
func format(parts []part) []byte {
	var b bytes.Buffer
	b.WriteString(head)
	of := map[string][]string{}
	var texts []string // in order of first use
	for _, p := range parts {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, p.version, strings.Join(p.ids, " AND "))
		for _, text := range p.texts {
			if of[text] == nil {
				texts = append(texts, text)
			}
			of[text] = append(of[text], p.name)
		}
	}
	for _, text := range texts {
		b.WriteString("\n## " + strings.Join(of[text], ", ") + "\n\n")
		// Four spaces make the line code in Markdown.
		for line := range strings.Lines(text) {
			if line = strings.TrimRight(line, " \t\r\n"); line != "" {
				line = "    " + line
			}
			b.WriteString(line + "\n")
		}
	}
	return b.Bytes()
}
