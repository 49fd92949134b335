package slack_test

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	sender "github.com/eventuallytrue/audit/notify/slack"
)

// maxReplies is how many replies to a message the page shows.
const maxReplies = 1

// TestMessagesPage holds MESSAGES.md to what is really sent: it is the payload of
// each sample in HTML, which shows it about as Slack does.
func TestMessagesPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Messages in Slack

This page is written by a test from what is sent. It shows about what Slack shows: replies in a thread are set
in, and what an update makes of an older message stands under "now reads".

`)
	for _, s := range samples() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", s.name, s.says)
		replies := 0
		for _, m := range describe(planOf(s)) {
			switch {
			case m.update != "":
				fmt.Fprintf(&b, "The message that told of it now reads:\n\n%s\n\n", boxed(m, 1))
			case m.beneath == "":
				fmt.Fprintf(&b, "%s\n\n", boxed(m, 1))
			case replies < maxReplies:
				fmt.Fprintf(&b, "%s\n\n", boxed(m, 2))
				replies++
			default:
				replies++
			}
		}
		if replies > maxReplies {
			fmt.Fprintf(&b, "… and %d more replies.\n\n", replies-maxReplies)
		}
	}
	golden(t, "MESSAGES.md", []byte(strings.TrimRight(b.String(), "\n")+"\n"))
}

// boxed returns a message as HTML without an empty line, which Markdown leaves
// alone.
func boxed(m planned, depth int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat("<blockquote>", depth))
	if m.broadcast {
		b.WriteString("<sub>reply, also sent to the channel</sub>\n")
	}
	for _, block := range m.blocks {
		b.WriteString(blockHTML(block) + "\n")
	}
	return b.String() + strings.Repeat("</blockquote>", depth)
}

func blockHTML(block slack.Block) string {
	switch block := block.(type) {
	case *slack.HeaderBlock:
		return "<h4>" + html.EscapeString(block.Text.Text) + "</h4>"
	case *slack.SectionBlock:
		// Markup is escaped as HTML is, but for the mentions of the config.
		return "<p>" + strings.ReplaceAll(block.Text.Text, mention, "<b>@team-a</b>") + "</p>"
	case *slack.ContextBlock:
		return "<p><sub>" + html.EscapeString(block.ContextElements.Elements[0].(*slack.TextBlockObject).Text) + "</sub></p>"
	case *slack.DividerBlock:
		return "<hr>"
	case *slack.RichTextBlock:
		var b strings.Builder
		for _, e := range block.Elements {
			b.WriteString(richHTML(e))
		}
		return b.String()
	}
	return fmt.Sprintf("%T", block)
}

func richHTML(e slack.RichTextElement) string {
	switch e := e.(type) {
	case *slack.RichTextSection:
		return "<p>" + lineHTML(e.Elements) + "</p>"
	case *slack.RichTextList:
		var b strings.Builder
		for _, item := range e.Elements {
			b.WriteString("\n<li>" + lineHTML(item.(*slack.RichTextSection).Elements) + "</li>")
		}
		return "<ul>" + b.String() + "</ul>"
	}
	return fmt.Sprintf("%T", e)
}

func lineHTML(elements []slack.RichTextSectionElement) string {
	var b strings.Builder
	for _, e := range elements {
		switch e := e.(type) {
		case *slack.RichTextSectionEmojiElement:
			b.WriteString(sender.Symbol(e.Name))
		case *slack.RichTextSectionTextElement:
			s := strings.ReplaceAll(html.EscapeString(e.Text), "\n", "<br>\n")
			if e.Style != nil && e.Style.Code {
				s = "<code>" + s + "</code>"
			}
			if e.Style != nil && e.Style.Bold {
				s = "<b>" + s + "</b>"
			}
			if e.Style != nil && e.Style.Strike {
				s = "<del>" + s + "</del>"
			}
			b.WriteString(s)
		default:
			fmt.Fprintf(&b, "%T", e)
		}
	}
	return b.String()
}
