package main

import (
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// The limits of every package. Generated files and tests do not count.
const (
	mostFiles  = 18  // in a package
	mostLines  = 450 // in a file
	mostCircle = 6   // files that use each other's declarations in a circle
)

// TestStructure: a reader can name the file they need from the list of files alone.
func TestStructure(t *testing.T) {
	loaded, err := packages.Load(&packages.Config{
		Dir: moduleRoot,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo |
			packages.NeedImports,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	if packages.PrintErrors(loaded) > 0 || len(loaded) < 20 {
		t.Fatalf("loaded %d packages", len(loaded))
	}
	for _, p := range loaded {
		name := listed{ImportPath: p.PkgPath}.name()
		uses := usesOf(p)
		if len(uses) > mostFiles {
			t.Errorf("%s has %d files, want at most %d", name, len(uses), mostFiles)
		}
		for _, f := range p.Syntax {
			if at := p.Fset.File(f.Pos()); !ast.IsGenerated(f) && at.LineCount() > mostLines {
				t.Errorf("%s has %d lines, want at most %d", filepath.Join(name, filepath.Base(at.Name())), at.LineCount(), mostLines)
			}
		}
		if circle := largestCircle(uses); len(circle) > mostCircle {
			t.Errorf("%s has a circle of %d files, want at most %d: %s", name, len(circle), mostCircle, strings.Join(circle, " "))
		}
	}
}

// usesOf returns the files of a package, each with those whose declarations it uses. A
// field counts as its type.
func usesOf(p *packages.Package) map[string][]string {
	uses := map[string][]string{}
	for _, f := range p.Syntax {
		if !ast.IsGenerated(f) {
			uses[filepath.Base(p.Fset.File(f.Pos()).Name())] = nil
		}
	}
	for id, object := range p.TypesInfo.Uses {
		if v, ok := object.(*types.Var); object.Pkg() != p.Types || ok && v.IsField() {
			continue
		}
		from, to := filepath.Base(p.Fset.File(id.Pos()).Name()), filepath.Base(p.Fset.File(object.Pos()).Name())
		_, counts := uses[to]
		if seen, ok := uses[from]; ok && counts && from != to && !slices.Contains(seen, to) {
			uses[from] = append(seen, to)
		}
	}
	return uses
}

// largestCircle returns the largest set of files that reach each other.
func largestCircle(uses map[string][]string) []string {
	reached := map[string]map[string]bool{}
	for from := range uses {
		reached[from] = map[string]bool{}
		for next := slices.Clone(uses[from]); len(next) > 0; next = next[1:] {
			if !reached[from][next[0]] {
				reached[from][next[0]] = true
				next = append(next, uses[next[0]]...)
			}
		}
	}
	var largest []string
	for a := range uses {
		var circle []string
		for b := range reached[a] {
			if reached[b][a] {
				circle = append(circle, b)
			}
		}
		if len(circle) > len(largest) {
			largest = circle
		}
	}
	slices.Sort(largest)
	return largest
}

func TestLargestCircle(t *testing.T) {
	got := largestCircle(map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}, "e": {"f"}, "f": {"d"}, "g": nil})
	if want := []string{"d", "e", "f"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
