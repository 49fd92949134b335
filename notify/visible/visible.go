// Package visible makes text of unknown origin safe to be shown: whatever a
// reader could not see, or would be misled by, is written out as an escape. What
// else a place needs, such as the escapes of a markup, is that place's own.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks may pile up on one character. Languages
// use up to three; more of them paint over the lines above and below.
const maxMarks = 3

// Text returns text of unknown origin with everything that a terminal would
// obey, or that would be hidden or turned around, written out as the escape that
// Go and JSON use. It is one line.
func Text(s string) string {
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
		case !Rune(r) || Combining(r) && marks == maxMarks:
			b.WriteString(Escape(r))
			marks = maxMarks
		case Combining(r):
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
	return b.String()
}

// Rune reports whether a rune is seen as what it is. The blank is; every
// other white space, control, format character (bidi, zero width, tags),
// surrogate, private or unassigned code point is not, nor are the letters and
// marks that Unicode wants to be ignored or that look like a blank.
func Rune(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		r != '\u2800' // the empty Braille pattern
}

// Combining reports whether a rune sits on the one before it and takes no room
// of its own.
func Combining(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) }

// Escape writes a rune out.
func Escape(r rune) string {
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
