package slack

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/visible"
	"github.com/eventuallytrue/audit/rules"
)

// How long text from the cluster may be, in characters.
const (
	maxName     = 300 // a subject or an object: a namespace and the longest host fit
	maxLineName = 160 // a subject in a list
	maxLine     = 200 // a message in a list
	maxProse    = 700 // a paragraph
	maxSmall    = 200 // small print
	maxObjects  = 5   // objects of a finding
	maxLines    = 25  // lines of a list in the channel
)

// codeSpan returns untrusted text as code for a text with markup. In code, Slack
// interprets only backticks and angle brackets. The text is cut before it is escaped, so
// that no escape is cut.
func codeSpan(s string, most int) string {
	s = strings.ReplaceAll(visible.Short(s, most), "`", "'")
	if strings.TrimSpace(s) == "" {
		s = "?"
	}
	return "`" + escapes().Replace(s) + "`"
}

// escapes escapes the three special characters of Slack's markup.
func escapes() *strings.Replacer {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
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

// openFor says how long a finding was open, "" if that is unknown.
func openFor(r *audit.Record) string {
	if r.OpenedAt.IsZero() || !r.ResolvedAt.After(r.OpenedAt) {
		return ""
	}
	return rules.Age(r.ResolvedAt.Sub(r.OpenedAt))
}

// line is a line of rich text. Slack shows the text of its elements verbatim: markup and
// links are not interpreted, and a mention is another kind of element. That is why all
// text from the cluster is shown in rich text.
type line []slack.RichTextSectionElement

// words is the program's own text, which needs no escaping.
func words(s string) slack.RichTextSectionElement { return text(s, nil) }

// bold is the program's own text in bold.
func bold(s string) slack.RichTextSectionElement {
	return text(s, &slack.RichTextSectionTextStyle{Bold: true})
}

// name is a name from the cluster.
func name(s string, most int) slack.RichTextSectionElement {
	return text(visible.Short(s, most), &slack.RichTextSectionTextStyle{Code: true})
}

// prose is text that contains names from the cluster.
func prose(s string, most int) slack.RichTextSectionElement { return text(visible.Short(s, most), nil) }

func emoji(name string) slack.RichTextSectionElement {
	return slack.NewRichTextSectionEmojiElement(name, 0, nil)
}

func text(s string, style *slack.RichTextSectionTextStyle) slack.RichTextSectionElement {
	if s == "" {
		s = "?" // Slack rejects empty elements
	}
	return slack.NewRichTextSectionTextElement(s, style)
}

// struck returns the line with its text struck through.
func (l line) struck() line {
	out := make(line, len(l))
	for i, e := range l {
		out[i] = e
		if t, ok := e.(*slack.RichTextSectionTextElement); ok {
			style := slack.RichTextSectionTextStyle{}
			if t.Style != nil {
				style = *t.Style
			}
			style.Strike = true
			out[i] = text(t.Text, &style)
		}
	}
	return out
}

func (l line) section() *slack.RichTextSection { return slack.NewRichTextSection(l...) }

// length returns the number of characters of a line in a list.
func (l line) length() int { return utf8.RuneCountInString(readableLine(l)) + 3 }

// paragraphs is a block of lines.
func paragraphs(lines ...line) *slack.RichTextBlock {
	var all line
	for i, l := range lines {
		if i > 0 {
			all = append(all, words("\n"))
		}
		all = append(all, l...)
	}
	return slack.NewRichTextBlock("", all.section())
}

// header is the first line of a message.
func header(s string) slack.Block {
	return slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, visible.Short(s, maxHeader), false, false))
}

// markup is a block of text with markup: the program's own, mentions from the config, and
// what codeSpan returns.
func markup(s string) slack.Block {
	return slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, s, false, false), nil, nil)
}

// small is a block in small print.
func small(s string) slack.Block {
	return slack.NewContextBlock("", slack.NewTextBlockObject(slack.PlainTextType, visible.Short(s, maxSmall), false, false))
}

// readable returns blocks as text, for a preview.
func readable(blocks ...slack.Block) string {
	var b strings.Builder
	for _, block := range blocks {
		switch block := block.(type) {
		case *slack.HeaderBlock:
			b.WriteString(block.Text.Text + "\n")
		case *slack.SectionBlock:
			b.WriteString(unescape(block.Text.Text) + "\n")
		case *slack.ContextBlock:
			for _, e := range block.ContextElements.Elements {
				if t, ok := e.(*slack.TextBlockObject); ok {
					b.WriteString(t.Text + "\n")
				}
			}
		case *slack.DividerBlock:
			b.WriteString("---\n")
		case *slack.RichTextBlock:
			for _, e := range block.Elements {
				readableRich(&b, e)
			}
		}
	}
	return b.String()
}

func readableRich(b *strings.Builder, e slack.RichTextElement) {
	switch e := e.(type) {
	case *slack.RichTextSection:
		b.WriteString(readableLine(e.Elements) + "\n")
	case *slack.RichTextPreformatted:
		b.WriteString(readableLine(e.Elements) + "\n")
	case *slack.RichTextList:
		for _, item := range e.Elements {
			b.WriteString("- ")
			readableRich(b, item)
		}
	}
}

// readableLine returns a line as text.
func readableLine(l line) string {
	var b strings.Builder
	for _, e := range l {
		switch e := e.(type) {
		case *slack.RichTextSectionEmojiElement:
			b.WriteString(symbol(e.Name))
		case *slack.RichTextSectionTextElement:
			s := e.Text
			if e.Style != nil && e.Style.Code {
				s = "`" + s + "`"
			}
			if e.Style != nil && e.Style.Strike {
				s = "~" + s + "~"
			}
			b.WriteString(s)
		case *slack.RichTextSectionChannelElement:
			b.WriteString("#" + e.ChannelID)
		case *slack.RichTextSectionLinkElement:
			b.WriteString(e.Text + " <" + e.URL + ">")
		}
	}
	return b.String()
}

// The emoji of messages, by Slack's names for them.
const (
	emojiHigh     = "red_circle"
	emojiMedium   = "large_orange_circle"
	emojiLow      = "large_yellow_circle"
	emojiResolved = "white_check_mark"
	emojiClosed   = "white_circle" // closed, but not fixed
	emojiReleased = "arrow_right"  // another owner's now
)

func symbol(emoji string) string {
	switch emoji {
	case emojiHigh:
		return "🔴"
	case emojiMedium:
		return "🟠"
	case emojiLow:
		return "🟡"
	case emojiResolved:
		return "✅"
	case emojiClosed:
		return "⚪"
	case emojiReleased:
		return "➡"
	}
	return ":" + emoji + ":"
}

// unescape reverses escapes.
func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}
