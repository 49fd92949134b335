package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumns(t *testing.T) {
	for _, row := range []struct {
		name string
		in   shown
		want int
	}{
		{"nothing", "", 0},
		{"ASCII", "team-a", 6},
		{"wide characters take two", "商店", 4},
		{"so do full-width letters", "Ａ", 2},
		{"half-width ones do not", "ｱ", 1},
		{"marks take none", "e\u0301", 1},
		{"emoji take two", "🚢", 2},
		{"the ellipsis takes one", "…", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := columns(row.in); got != row.want {
				t.Errorf("columns(%q) = %d, want %d", row.in, got, row.want)
			}
		})
	}
}

func TestCut(t *testing.T) {
	for _, row := range []struct {
		name  string
		in    shown
		width int
		want  shown
	}{
		{"what fits stays", "team-a/shop", 11, "team-a/shop"},
		{"what does not loses its middle", "team-a/shop-frontend-7", 11, "team-…end-7"},
		{"a wide character is not halved", "商店商店", 5, "商…店"},
		{"a mark stays with its letter", "abcdefe\u0301", 4, "ab…e\u0301"},
		{"a mark does not begin the tail", "abcde\u0301f", 4, "ab…f"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := cut(row.in, row.width); got != row.want {
				t.Errorf("cut(%q, %d) = %q, want %q", row.in, row.width, got, row.want)
			}
		})
	}
}

func TestWrap(t *testing.T) {
	for _, row := range []struct {
		name  string
		in    shown
		width int
		want  []shown
	}{
		{"nothing is one empty line", "", 10, []shown{""}},
		{"what fits is one line", "one two", 10, []shown{"one two"}},
		{"lines break at blanks", "one two three", 8, []shown{"one two", "three"}},
		{"blanks in a row are one", "one   two ", 8, []shown{"one two"}},
		{"a word longer than a line is broken", "a " + shown(strings.Repeat("x", 9)) + " b", 4, []shown{"a", "xxxx", "xxxx", "x b"}},
		{"a wide character is not halved", "商店商", 3, []shown{"商", "店", "商"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, wrap(row.in, row.width)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
