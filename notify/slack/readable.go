package slack

import (
	"strings"

	"github.com/slack-go/slack"
)

// readable returns blocks as text, for those who read a message before it is
// sent. What it looks like in Slack it only hints at.
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
		}
	}
	return b.String()
}

// The emoji of messages, by Slack's names for them.
const (
	emojiHigh   = "red_circle"
	emojiMedium = "large_orange_circle"
	emojiLow    = "large_yellow_circle"
	emojiMended = "white_check_mark"
	emojiClosed = "white_circle" // closed and not mended
	emojiGiven  = "arrow_right"  // somebody else's now
)

func symbol(emoji string) string {
	switch emoji {
	case emojiHigh:
		return "🔴"
	case emojiMedium:
		return "🟠"
	case emojiLow:
		return "🟡"
	case emojiMended:
		return "✅"
	case emojiClosed:
		return "⚪"
	case emojiGiven:
		return "➡"
	}
	return ":" + emoji + ":"
}

// unescape undoes what escapes did.
func unescape(s string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(s)
}
