package report

import (
	"strings"

	"golang.org/x/text/width"

	"github.com/eventuallytrue/audit/notify/visible"
)

// columnsOf returns how many columns a terminal gives a rune that may be shown.
func columnsOf(r rune) int {
	if r < 0x7f {
		return 1
	}
	if visible.Combining(r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// columns returns how many columns a terminal gives the text.
func columns(s shown) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

// pad fills the text with blanks up to the width.
func pad(s shown, width int) shown {
	return s + blanks(width-columns(s))
}

func blanks(n int) shown { return shown(strings.Repeat(" ", max(n, 0))) }

// cut shortens the text to the width in its middle, since names of a kind
// differ at their ends: namespaces at the left, numbers at the right.
func cut(s shown, width int) shown {
	if columns(s) <= width {
		return s
	}
	head, _ := split(s, width/2)
	room := width - 1 - columns(head)
	rest := columns(s)
	for i, r := range s {
		n := columnsOf(r)
		if rest <= room && n > 0 {
			return head + "…" + s[i:]
		}
		rest -= n
	}
	return head + "…"
}

// split divides the text where it reaches the width; the first part is as wide
// as the width allows but not empty, and a combining mark stays with its
// letter.
func split(s shown, width int) (head, tail shown) {
	n := 0
	for i, r := range s {
		w := columnsOf(r)
		if i > 0 && w > 0 && n+w > width {
			return s[:i], s[i:]
		}
		n += w
	}
	return s, ""
}

// wrap breaks running text into lines of at most the given width, at blanks
// where there are some. It returns at least one line.
func wrap(s shown, width int) []shown {
	var lines []shown
	line, used := shown(""), 0
	for word := range strings.FieldsSeq(string(s)) {
		word := shown(word)
		n := columns(word)
		if used > 0 && used+1+n <= width {
			line, used = line+" "+word, used+1+n
			continue
		}
		if used > 0 {
			lines = append(lines, line)
		}
		// A name can be longer than a line.
		for n > width {
			var head shown
			head, word = split(word, width)
			lines = append(lines, head)
			n -= columns(head)
		}
		line, used = word, n
	}
	return append(lines, line)
}
