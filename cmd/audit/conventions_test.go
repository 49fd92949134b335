package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
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

// readSources parses the non-test files. Folders with a go.mod of their own, and
// testdata, do not belong to the module.
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

// TestOneFileImportsYAML: the library is unmaintained, and a single importer is easy to
// move to another library.
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

// TestPackagesAreNouns: a package's name says what is in it.
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

// TestNoMutableGlobals: a variable of a package is set only where it is
// declared.
func TestNoMutableGlobals(t *testing.T) {
	byPackage := map[string][]sourceFile{}
	for _, f := range readSources(t) {
		byPackage[path.Dir(f.path)] = append(byPackage[path.Dir(f.path)], f)
	}
	for _, name := range slices.Sorted(maps.Keys(byPackage)) {
		files := byPackage[name]
		globals := map[string]bool{}
		for _, f := range files {
			for _, g := range globalsOf(f.ast) {
				globals[g.Name] = true
				if unset(f.ast, g) {
					t.Errorf("%s: %s has no value, so something must set it later", f.path, g.Name)
				}
			}
		}
		for _, f := range files {
			for _, changed := range changes(f.ast, globals) {
				t.Errorf("%s: %s changes a variable of the package", f.path, changed)
			}
		}
	}
}

// TestChangesAreSeen checks what the test above detects and what it ignores.
func TestChangesAreSeen(t *testing.T) {
	for body, want := range map[string]bool{
		"global = nil":                          true,
		"global[1] = 2":                         true,
		"global[1].a.b++":                       true,
		"(*global).a = 1":                       true,
		"other(&global)":                        true,
		"delete(global, 1)":                     true,
		"for global = range other {}":           true,
		"elsewhere.a = 1":                       true, // of another file of the package
		"global := 1; global = 2; _ = global":   false,
		"local := global; local = nil":          false,
		"other(global); _ = global[1] == 2":     false,
		"copy(local, global); other.global = 1": false,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nvar global = other\nfunc f() {"+body+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := changes(f, map[string]bool{"global": true, "elsewhere": true}); (len(got) > 0) != want {
			t.Errorf("%s: found %v", body, got)
		}
	}
}

// globalsOf returns the names of the variables of a package that a file
// declares.
func globalsOf(f *ast.File) []*ast.Ident {
	var names []*ast.Ident
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.VAR {
			continue
		}
		for _, spec := range decl.Specs {
			names = append(names, spec.(*ast.ValueSpec).Names...)
		}
	}
	return names
}

// unset reports whether a variable has no value where it is declared, and is
// neither an embedded file nor the version that the linker stamps.
func unset(f *ast.File, name *ast.Ident) bool {
	spec := name.Obj.Decl.(*ast.ValueSpec)
	if len(spec.Values) > 0 || name.Name == "stamp" {
		return false
	}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if len(c.Text) > 10 && c.Text[:10] == "//go:embed" && c.End() < name.Pos() && name.Pos()-c.End() < 100 {
				return false
			}
		}
	}
	return true
}

// changes returns the places in a file that set, or take the address of, a variable of
// the package or a part of one.
func changes(f *ast.File, globals map[string]bool) []string {
	var out []string
	check := func(e ast.Expr) {
		// The blank identifier keeps nothing.
		if name := root(e); name != nil && name.Name != "_" && globals[name.Name] && isGlobal(f, name) {
			out = append(out, name.Name)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				check(left)
			}
		case *ast.IncDecStmt:
			check(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				check(n.X)
			}
		case *ast.RangeStmt:
			check(n.Key)
			check(n.Value)
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy"}, fn.Name) && len(n.Args) > 0 {
				check(n.Args[0])
			}
		}
		return true
	})
	return out
}

// root returns the variable that an expression is a part of, or nil.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// isGlobal reports whether a name refers to the package's variable: the parser resolves
// names declared in a function, but not those declared in other files.
func isGlobal(f *ast.File, name *ast.Ident) bool {
	return name.Obj == nil || slices.ContainsFunc(globalsOf(f), func(g *ast.Ident) bool { return g.Obj == name.Obj })
}

// TestActionsArePinned: a tag of an action can be moved to other code, a commit cannot.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(moduleRoot, ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("workflows: %v, %v", files, err)
	}
	pinned := regexp.MustCompile(`^[a-z-]+/[a-z/-]+@[0-9a-f]{40} # v[0-9]+\.[0-9]+\.[0-9]+$`)
	uses := regexp.MustCompile(`(?m)uses: *(.*)$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range uses.FindAllStringSubmatch(string(text), -1) {
			if !pinned.MatchString(use[1]) {
				t.Errorf("%s uses %s, want a commit and the version in a comment", filepath.Base(file), use[1])
			}
		}
	}
}
