package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shown is text that may go to a terminal. The printing code takes no other
// text, and the compiler holds it to that: a constant becomes shown by itself, a
// variable only by show or by an open conversion, and one such stands only
// where the text is certainly ours.
type shown string

// maxMarks is how many combining marks may pile up on one character. Languages
// use up to three; more of them paint over the lines above and below.
const maxMarks = 3

// show returns text of unknown origin with everything that a terminal would
// obey, hide or turn around written out as the escape that Go and JSON use.
func show(s string) shown {
	var b strings.Builder
	// A mark at the very start or behind a blank would sit on whatever the page
	// puts there, and one behind an escape would deface it: they are written out.
	marks := maxMarks
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			marks = maxMarks
		case !visible(r) || combining(r) && marks == maxMarks:
			b.WriteString(escape(r))
			marks = maxMarks
		case combining(r):
			b.WriteRune(r)
			marks++
		case r == ' ':
			b.WriteRune(r)
			marks = maxMarks
		default:
			b.WriteRune(r)
			marks = 0
		}
		i += size
	}
	return shown(b.String())
}

// Safe returns text of unknown origin as a terminal may have it: what a terminal
// would obey, hide or turn around is written out as an escape.
func Safe(s string) string { return string(show(s)) }

// visible reports whether a rune is seen as what it is. The blank is; every
// other white space, control, format character (bidi, zero width, tags),
// surrogate, private or unassigned code point is not, nor are the letters and
// marks that Unicode wants to be ignored or that look like a blank.
func visible(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		r != '\u2800' // the empty Braille pattern
}

// combining reports whether a rune sits on the one before it and takes no room
// of its own.
func combining(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) }

func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r < ' ' || r == 0x7f:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
