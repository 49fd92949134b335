package fakeslack_test

import (
	"testing"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// Each row is a text, and what becomes of it as markup, as plain text, and as
// rich text.
func TestHostileText(t *testing.T) {
	const control, unescaped, invisible = "fakeslack_control_sequence", "fakeslack_unescaped", "fakeslack_invisible"
	tests := []struct{ name, text, markup, plain string }{
		{"words", "a fine *bold* line\nand another", "", ""},
		{"an allowed mention", "hey <!subteam^S0123> and <@U0123>", "", ""},
		{"an allowed link", "see <https://example.com|runbook>", "", ""},
		{"another mention", "hey <!channel>", control, ""},
		{"another person", "hey <@U999>", control, ""},
		{"a channel", "see <#C02>", control, ""},
		{"another link", "see <https://evil.example|runbook>", control, ""},
		{"an allowed mention with more in it", "<!subteam^S0123|x>", control, ""},
		{"a start without an end", "a < b", control, ""},
		{"an end without a start", "a > b", unescaped, ""},
		{"an ampersand", "a & b", unescaped, ""},
		{"half an entity", "a &lt b", unescaped, ""},
		{"escaped characters", "&lt;!channel&gt; &amp;", "", ""},
		{"a bell", "a\ab", invisible, invisible},
		{"a carriage return", "a\rb", invisible, invisible},
		{"a turn of direction", "a\u202eb", invisible, invisible},
		{"no width", "a\u200bb", invisible, invisible},
		{"a tag", "a\U000e0041b", invisible, invisible},
	}
	for _, test := range tests {
		s := fakeslack.Start(t, workspace())
		post := func(options ...slack.MsgOption) string {
			_, _, err := client(s).PostMessageContext(t.Context(), "C01", options...)
			return word(err)
		}
		for where, got := range map[string][2]string{
			"text":   {post(slack.MsgOptionText(test.text, false)), test.markup},
			"markup": {post(fallback, section(test.text)), test.markup},
			"plain":  {post(fallback, slack.MsgOptionBlocks(plainSection(test.text))), test.plain},
			"header": {post(fallback, slack.MsgOptionBlocks(header(test.text))), test.plain},
			"rich":   {post(fallback, slack.MsgOptionBlocks(rich(slack.NewRichTextSectionTextElement(test.text, nil)))), test.plain},
		} {
			if got[0] != got[1] {
				t.Errorf("%s as %s: got %q, want %q", test.name, where, got[0], got[1])
			}
		}
	}
}

func TestRichTextCallsOnlyWhoIsAllowed(t *testing.T) {
	tests := []struct {
		name    string
		element slack.RichTextSectionElement
		want    string
	}{
		{"an allowed group", slack.NewRichTextSectionUserGroupElement("S0123"), ""},
		{"another group", slack.NewRichTextSectionUserGroupElement("S9"), "fakeslack_control_sequence"},
		{"an allowed person", slack.NewRichTextSectionUserElement("U0123", nil), ""},
		{"another person", slack.NewRichTextSectionUserElement("U9", nil), "fakeslack_control_sequence"},
		{"everybody", slack.NewRichTextSectionBroadcastElement("channel"), "fakeslack_control_sequence"},
		{"an allowed link", slack.NewRichTextSectionLinkElement("https://example.com", "runbook", nil), ""},
		{"another link", slack.NewRichTextSectionLinkElement("https://evil.example", "runbook", nil), "fakeslack_control_sequence"},
		{"a channel", slack.NewRichTextSectionChannelElement("C02", nil), ""},
		{"a channel that does not exist", slack.NewRichTextSectionChannelElement("C9", nil), "fakeslack_control_sequence"},
		{"an emoji", slack.NewRichTextSectionEmojiElement("white_check_mark", 0, nil), ""},
		{"struck text", slack.NewRichTextSectionTextElement("x", &slack.RichTextSectionTextStyle{Strike: true}), ""},
		{"a style that is not known", slack.NewRichTextSectionTextElement("x", &slack.RichTextSectionTextStyle{Unlink: true}), "invalid_blocks"},
		{"an element that is not known", slack.NewRichTextSectionColorElement("#fff"), "invalid_blocks"},
	}
	for _, test := range tests {
		s := fakeslack.Start(t, workspace())
		list := slack.NewRichTextBlock("", slack.NewRichTextList(slack.RTEListBullet, 0, slack.NewRichTextSection(test.element)))
		for _, b := range []slack.Block{rich(test.element), list} {
			_, _, err := client(s).PostMessageContext(t.Context(), "C01", fallback, slack.MsgOptionBlocks(b))
			if got := word(err); got != test.want {
				t.Errorf("%s: got %q, want %q", test.name, got, test.want)
			}
		}
	}
}
