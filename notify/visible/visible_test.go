package visible_test

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/notify/visible"
)

func TestText(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"plain text stays", `team-a/shop "é" 商店 (x) \o/`, `team-a/shop "é" 商店 (x) \o/`},
		{"escape sequences lose their ESC", "\x1b[31mred", `\x1b[31mred`},
		{"line feeds do not begin lines", "a\nclean: all", `a\nclean: all`},
		{"carriage returns do not overwrite", "a\rb\tc", `a\rb\tc`},
		{"NUL, backspace and DEL", "\x00\b\x7f", `\x00\x08\x7f`},
		{"C1 controls, which some terminals obey", "\u0085\u009b31m", `\u0085\u009b31m`},
		{"the same as lone bytes", "\x9b31m", `\x9b31m`},
		{"bytes that are no UTF-8", "a\xffb\xc3", `a\xffb\xc3`},
		{"the replacement character itself", "\ufffd", "\ufffd"},
		{"embeddings and overrides", "\u202a\u202b\u202c\u202d\u202e", `\u202a\u202b\u202c\u202d\u202e`},
		{"isolates", "\u2066\u2067\u2068\u2069", `\u2066\u2067\u2068\u2069`},
		{"direction marks", "\u200e\u200f\u061c", `\u200e\u200f\u061c`},
		{"zero width", "\u200b\u200c\u200d\u2060\ufeff", `\u200b\u200c\u200d\u2060\ufeff`},
		{"line and paragraph separators", "\u2028\u2029", `\u2028\u2029`},
		{"tags", "\U000e0001\U000e0041", `\U000e0001\U000e0041`},
		{"private use", "\ue000\U000f0000\U0010fffd", `\ue000\U000f0000\U0010fffd`},
		{"no code point of Unicode", "\ufdd0\uffff", `\ufdd0\uffff`},
		{"blanks that are none", "\u00a0\u2003\u3000\u3164\u2800", `\u00a0\u2003\u3000\u3164\u2800`},
		{"soft hyphens and variations", "\u00ad\ufe0f\u180e\u034f", `\u00ad\ufe0f\u180e\u034f`},
		{"a mark on its letter stays", "e\u0301", "e\u0301"},
		{"a mark on nothing does not", "\u0301e \u0301", `\u0301e \u0301`},
		{"a mark on an escape does not", "\x1b\u0301", `\x1b\u0301`},
		{"marks do not pile up", "o" + strings.Repeat("\u0301", 5), "o\u0301\u0301\u0301" + `\u0301\u0301`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := visible.Text(row.in); got != row.want {
				t.Errorf("Text(%q) = %q, want %q", row.in, got, row.want)
			}
		})
	}
}

// TestRune holds the predicate to every code point that is known to be
// harmful, so that a newer table of Unicode cannot let one through.
func TestRune(t *testing.T) {
	for _, span := range [][2]rune{
		{0, 0x1f},
		{0x7f, 0x9f},
		{0x200b, 0x200f},
		{0x2028, 0x202e},
		{0x2060, 0x206f},
		{0xd800, 0xdfff},
		{0xe000, 0xf8ff},
		{0xfe00, 0xfe0f},
		{0xfff0, 0xfffb},
		{0xe0000, 0xe0fff},
		{0xf0000, 0x10ffff},
	} {
		for r := span[0]; r <= span[1]; r++ {
			if visible.Rune(r) {
				t.Errorf("U+%04X is let through", r)
			}
		}
	}
}
