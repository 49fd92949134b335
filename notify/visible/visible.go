// Package visible makes untrusted text safe to show: it escapes everything that a
// reader could not see or would be misled by. Callers add the escapes that their own
// format needs.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks one character may have. Languages use up to
// three; more of them paint over the lines above and below.
const maxMarks = 3

// Text returns untrusted text on one line. Everything that a terminal would interpret,
// or that would be hidden or reordered, is replaced by the escape that Go and JSON use.
func Text(s string) string {
	var b strings.Builder
	// A mark at the start or after a blank would combine with whatever is shown there,
	// and a mark after an escape would deface it: these are escaped.
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

// Lines returns untrusted text of several lines, each as Text returns it and ended.
func Lines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(Text(strings.TrimSuffix(line, "\n")) + "\n")
	}
	return b.String()
}

// Short returns untrusted text as Text does, cut to at most n characters. A text that is
// cut ends with an ellipsis.
func Short(s string, n int) string {
	// Cut first as well: an escaped text is at least as long as before.
	s = Text(first(s, n+1))
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(first(s, n-1), " ") + "…"
}

// first returns the first n characters of a text. An invalid byte counts as one.
func first(s string, n int) string {
	for at := range s {
		if n == 0 {
			return s[:at]
		}
		n--
	}
	return s
}

// Rune reports whether a rune is visible as what it is. The blank is. All other white
// space, controls, format characters (bidi, zero width, tags), surrogates, private and
// unassigned code points are not, nor are letters and marks that Unicode has renderers
// ignore or that look like a blank.
func Rune(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	return unicode.IsPrint(r) && !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) &&
		r != '\u2800' // the empty Braille pattern
}

// Combining reports whether a rune is drawn over the one before it.
func Combining(r rune) bool { return unicode.In(r, unicode.Mn, unicode.Me) }

// Escape returns the escape of a rune.
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
