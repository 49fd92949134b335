package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sourceFile is a non-test file of the module.
type sourceFile struct {
	path string // within the module
	ast  *ast.File
}

// readSources parses the files that are no tests. Folders with a go.mod of their
// own, and testdata, are not of the module.
func readSources(t *testing.T) []sourceFile {
	t.Helper()
	var files []sourceFile
	err := filepath.WalkDir(moduleRoot, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != moduleRoot && (name == "testdata" || strings.HasPrefix(name, ".")):
			return filepath.SkipDir
		case entry.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(moduleRoot, path)
		files = append(files, sourceFile{filepath.ToSlash(rel), parsed})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found %d files only", len(files))
	}
	return files
}

// TestOneFileImportsYAML: the library is no longer developed, and one file is
// easily moved to another.
func TestOneFileImportsYAML(t *testing.T) {
	var importers []string
	for _, f := range readSources(t) {
		for _, i := range f.ast.Imports {
			if path, _ := strconv.Unquote(i.Path.Value); path == "gopkg.in/yaml.v3" {
				importers = append(importers, f.path)
			}
		}
	}
	if len(importers) != 1 {
		t.Errorf("gopkg.in/yaml.v3 is imported by %v, want one file", importers)
	}
}

// TestPackagesAreNouns that say what is in them.
func TestPackagesAreNouns(t *testing.T) {
	drawers := []string{"util", "utils", "common", "helper", "helpers", "manager", "misc", "types"}
	for _, f := range readSources(t) {
		for _, word := range append(strings.Split(filepath.Dir(f.path), "/"), f.ast.Name.Name) {
			if slices.Contains(drawers, word) {
				t.Errorf("%s is in a package called %s", f.path, word)
			}
		}
	}
}

func TestNothingRunsBeforeMain(t *testing.T) {
	for _, f := range readSources(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function", f.path)
			}
		}
	}
}
