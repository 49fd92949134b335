package slack_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/visible"
)

func TestCodeSpan(t *testing.T) {
	for in, want := range map[string]string{
		"shop.example.com":      "`shop.example.com`",
		"<!channel>":            "`&lt;!channel&gt;`",
		"a`b":                   "`a'b`",
		"a & b":                 "`a &amp; b`",
		"a\nb":                  "`a\\nb`",
		"":                      "`?`",
		"  ":                    "`?`",
		strings.Repeat("<", 20): "`" + strings.Repeat("&lt;", 15) + "…`",
		"a\u202eb":              "`a\\u202eb`",
	} {
		if got := sender.CodeSpan(in, 16); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

// Any text stays within its code span, hides nothing, and is not longer than the limit.
func FuzzText(f *testing.F) {
	for _, s := range attacks() {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, most int) {
		if most < 1 || most > 5000 {
			return
		}
		seen := visible.Short(s, most)
		if n := utf8.RuneCountInString(seen); n > most {
			t.Errorf("%q has %d characters, at most %d are allowed", seen, n, most)
		}
		for _, r := range seen {
			if !visible.Rune(r) {
				t.Errorf("%U is in %q", r, seen)
			}
		}
		if whole := visible.Text(s); utf8.RuneCountInString(whole) <= most && seen != whole {
			t.Errorf("%q was cut to %q for no reason", whole, seen)
		}
		span := sender.CodeSpan(s, most)
		inner := strings.TrimSuffix(strings.TrimPrefix(span, "`"), "`")
		if len(inner) != len(span)-2 || inner == "" || strings.ContainsAny(inner, "`<>\n") {
			t.Errorf("%q breaks out as %q", s, span)
		}
		if plain := strings.NewReplacer("&lt;", "", "&gt;", "", "&amp;", "").Replace(inner); strings.Contains(plain, "&") {
			t.Errorf("%q has half an escape: %q", s, span)
		}
	})
}
