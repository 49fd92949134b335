package slack

import (
	"unicode/utf8"

	"github.com/slack-go/slack"
)

// line is a line of rich text. Slack shows the text of its elements as it is:
// no markup, no links, and whom it calls is an element of another kind. That is
// why all that comes from the cluster stands in rich text.
type line []slack.RichTextSectionElement

// words are ours. A constant needs no check, and nothing else is to be given.
func words(s string) slack.RichTextSectionElement { return text(s, nil) }

// strong are words of ours that stand out.
func strong(s string) slack.RichTextSectionElement {
	return text(s, &slack.RichTextSectionTextStyle{Bold: true})
}

// name is a name from the cluster.
func name(s string, most int) slack.RichTextSectionElement {
	return text(seen(s, most), &slack.RichTextSectionTextStyle{Code: true})
}

// prose are sentences with names from the cluster in them.
func prose(s string, most int) slack.RichTextSectionElement { return text(seen(s, most), nil) }

func emoji(name string) slack.RichTextSectionElement {
	return slack.NewRichTextSectionEmojiElement(name, 0, nil)
}

func text(s string, style *slack.RichTextSectionTextStyle) slack.RichTextSectionElement {
	if s == "" {
		s = "?" // Slack takes no empty element
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

// length counts the characters of a line, as one of a list.
func (l line) length() int { return utf8.RuneCountInString(readableLine(l)) + 3 }

// paragraphs is a block of lines, one below the other.
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
	return slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, seen(s, maxHeader), false, false))
}

// markup is a block of a text with markup: of ours, of mentions of the config,
// and of what codeSpan returned.
func markup(s string) slack.Block {
	return slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, s, false, false), nil, nil)
}

// small is a block in small print.
func small(s string) slack.Block {
	return slack.NewContextBlock("", slack.NewTextBlockObject(slack.PlainTextType, seen(s, maxSmall), false, false))
}
