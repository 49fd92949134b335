package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/width"

	"github.com/eventuallytrue/audit/notify/visible"
	"github.com/eventuallytrue/audit/rules"
)

// shown is text that is safe to print on a terminal. The printer takes no other type,
// so that the compiler enforces it: a constant converts implicitly, a variable only
// with show or an explicit conversion, which is for text of the program only.
type shown string

// show returns text from anywhere with control, invisible and bidi characters escaped.
func show(s string) shown { return shown(visible.Text(s)) }

// Safe returns text from anywhere with control, invisible and bidi characters escaped.
func Safe(s string) string { return string(show(s)) }

// Cell is Safe for a cell of a table. It cuts long text in the middle, because one long
// name would widen every row.
func Cell(s string) string { return string(cut(show(s), maxCell)) }

// maxCell is the width limit of a cell in terminal columns. Namespaces have names of at
// most 63 characters.
const maxCell = 63

// columnsOf returns the number of terminal columns of a rune that is safe to print.
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

// columns returns the number of terminal columns of the text.
func columns(s shown) int {
	n := 0
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

// pad appends blanks up to the width.
func pad(s shown, width int) shown {
	return s + blanks(width-columns(s))
}

func blanks(n int) shown { return shown(strings.Repeat(" ", max(n, 0))) }

// cut shortens the text to the width. It removes the middle, because similar names
// differ in their ends: the namespace on the left, numbers on the right.
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

// cutEnd shortens the text to the width. It removes the end.
func cutEnd(s shown, width int) shown {
	if columns(s) <= width {
		return s
	}
	head, _ := split(s, width-1)
	return shown(strings.TrimRight(string(head), " ,")) + "…"
}

// split splits the text at the width. The first part is never empty, and a combining
// mark stays with its letter.
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

// wrap breaks running text into lines of at most the given width, if possible at
// blanks. It returns at least one line.
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

// number returns a number in digits, with commas.
func number(n int) shown { return shown(thousands(n)) }

// thousands returns a number with commas.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// count returns a number and its noun, "1 policy" or "2 policies".
func count(n int, noun string) shown {
	if n != 1 {
		noun = rules.Plural(noun)
	}
	return number(n) + " " + show(noun)
}

// join joins names with commas.
func join(names []string) shown {
	var out shown
	for i, name := range names {
		if i > 0 {
			out += ", "
		}
		out += show(name)
	}
	return out
}

// date returns a time to the second, because that shows which objects may have raced.
func date(t time.Time) shown {
	if t.IsZero() {
		return ""
	}
	return show(t.UTC().Format(time.DateTime))
}

// duration returns a rounded duration, "" if negative.
func duration(d time.Duration) shown {
	switch {
	case d < 0:
		return ""
	case d < 50*time.Millisecond:
		return "under 0.1s"
	case d < time.Minute:
		return shown(strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s")
	}
	return shown(d.Round(time.Second).String())
}
