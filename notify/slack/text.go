package slack

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/visible"
	"github.com/eventuallytrue/audit/rules"
)

// How long what comes from the cluster may be, in characters.
const (
	maxName     = 300 // of a subject or an object: a namespace and the longest host fit
	maxLineName = 160 // of a subject in a list
	maxLine     = 200 // of what is said of it there
	maxProse    = 700 // of a paragraph
	maxSmall    = 200 // of small print
	maxObjects  = 5   // of a finding
	maxLines    = 25  // of a list that stands in the channel
)

// seen returns text of unknown origin as a reader may have it: on one line,
// nothing hidden in it, and clipped. It is for elements that Slack shows as they
// are, which are plain_text and the text of rich_text.
func seen(s string, most int) string {
	// Cut first as well: made visible, a text is at least as long as it was.
	return clip(visible.Text(cut(s, most+1)), most)
}

// codeSpan returns text of unknown origin for a text with markup: as code, in
// which Slack obeys nothing but a backtick and what stands in angle brackets. It
// is clipped before it is escaped, so that no escape is cut.
func codeSpan(s string, most int) string {
	s = strings.ReplaceAll(seen(s, most), "`", "'")
	if strings.TrimSpace(s) == "" {
		s = "?"
	}
	return "`" + escapes().Replace(s) + "`"
}

// escapes are the three characters that Slack's markup has an escape for.
func escapes() *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
}

// clip cuts a text to at most so many characters, and shows that it did.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimRight(cut(s, most-1), " ") + "…"
}

// cut returns the first characters of a text. A byte that is no UTF-8 is one.
func cut(s string, most int) string {
	for at := range s {
		if most == 0 {
			return s[:at]
		}
		most--
	}
	return s
}

// count returns a number and its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// bySeverity counts items, the highest severity first: "2 high, 1 low".
func bySeverity(items []notify.Item) string {
	var parts []string
	for _, s := range []rules.Severity{rules.High, rules.Medium, rules.Low} {
		n := 0
		for _, i := range items {
			if i.Record.Severity == s {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+s.String())
		}
	}
	return strings.Join(parts, ", ")
}

// lasted says for how long a finding was open, "" where that is not known.
func lasted(r *audit.Record) string {
	if r.OpenedAt.IsZero() || !r.ResolvedAt.After(r.OpenedAt) {
		return ""
	}
	return rules.Age(r.ResolvedAt.Sub(r.OpenedAt))
}
