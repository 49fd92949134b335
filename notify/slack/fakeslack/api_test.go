package fakeslack_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

const token = "xoxb-1-secret"

func workspace() fakeslack.Config {
	return fakeslack.Config{
		Token: token,
		Channels: map[string]fakeslack.Membership{
			"C01": fakeslack.Member, "C02": "", "C03": fakeslack.Outside, "C04": fakeslack.Archived,
		},
		Names: map[string]string{"team-a": "C01"},
		Webhooks: map[string]string{
			"/services/T0/B0/secret": "C03", "/services/T0/B0/old": "C04", "/services/T0/B0/lost": "C99",
		},
		Allowed:  []string{"<!subteam^S0123>", "<@U0123>", "<https://example.com|runbook>"},
		Interval: -1,
	}
}

func client(s *fakeslack.Server) *slack.Client {
	return slack.New(token, slack.OptionAPIURL(s.APIURL()))
}

// section is a message with one section of markup.
func section(text string) slack.MsgOption {
	return slack.MsgOptionBlocks(slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, text, false, false), nil, nil))
}

func plainSection(text string) slack.Block {
	return slack.NewSectionBlock(slack.NewTextBlockObject(slack.PlainTextType, text, false, false), nil, nil)
}

func header(text string) slack.Block {
	return slack.NewHeaderBlock(slack.NewTextBlockObject(slack.PlainTextType, text, false, false))
}

func rich(elements ...slack.RichTextSectionElement) slack.Block {
	return slack.NewRichTextBlock("", slack.NewRichTextSection(elements...))
}

func repeat(n int, b slack.Block) slack.MsgOption {
	blocks := make([]slack.Block, n)
	for i := range blocks {
		blocks[i] = b
	}
	return slack.MsgOptionBlocks(blocks...)
}

var fallback = slack.MsgOptionText("fallback", false)

// Each row is a message and Slack's word for it; "" where it is taken.
func TestWhatIsTaken(t *testing.T) {
	long := func(n int) string { return strings.Repeat("ü", n) }
	tests := []struct {
		name, channel string
		options       []slack.MsgOption
		want          string
	}{
		{"a text", "C01", []slack.MsgOption{fallback}, ""},
		{"an unknown channel", "C99", []slack.MsgOption{fallback}, "channel_not_found"},
		{"the name of a channel", "#team-a", []slack.MsgOption{fallback}, ""},
		{"the same without a #", "team-a", []slack.MsgOption{fallback}, ""},
		{"the name of no channel", "#general", []slack.MsgOption{fallback}, "channel_not_found"},
		{"a channel that the app is not in", "C03", []slack.MsgOption{fallback}, "not_in_channel"},
		{"an archived channel", "C04", []slack.MsgOption{fallback}, "is_archived"},
		{"nothing", "C01", nil, "no_text"},
		{"blocks without a text", "C01", []slack.MsgOption{section("x")}, "no_text"},
		{"the longest text", "C01", []slack.MsgOption{slack.MsgOptionText(long(4000), false)}, ""},
		{"too long a text", "C01", []slack.MsgOption{slack.MsgOptionText(long(4001), false)}, "msg_too_long"},
		{"50 blocks", "C01", []slack.MsgOption{fallback, repeat(50, slack.NewDividerBlock())}, ""},
		{"51 blocks", "C01", []slack.MsgOption{fallback, repeat(51, slack.NewDividerBlock())}, "invalid_blocks"},
		{"the longest section", "C01", []slack.MsgOption{fallback, section(long(3000))}, ""},
		{"too long a section", "C01", []slack.MsgOption{fallback, section(long(3001))}, "invalid_blocks"},
		{"an empty section", "C01", []slack.MsgOption{fallback, section("")}, "invalid_blocks"},
		{"the longest header", "C01", []slack.MsgOption{fallback, slack.MsgOptionBlocks(header(long(150)))}, ""},
		{"too long a header", "C01", []slack.MsgOption{fallback, slack.MsgOptionBlocks(header(long(151)))}, "invalid_blocks"},
		{"the most characters", "C01", []slack.MsgOption{fallback, repeat(5, plainSection(long(2200-125)))}, ""},
		{"too many characters", "C01", []slack.MsgOption{fallback, repeat(5, plainSection(long(2200-124)))}, "msg_blocks_too_long"},
		{"ten fields", "C01", []slack.MsgOption{fallback, fields(10, 20)}, ""},
		{"eleven fields", "C01", []slack.MsgOption{fallback, fields(11, 20)}, "invalid_blocks"},
		{"too long a field", "C01", []slack.MsgOption{fallback, fields(1, 2001)}, "invalid_blocks"},
		{"ten elements of context", "C01", []slack.MsgOption{fallback, contextOf(10)}, ""},
		{"eleven elements of context", "C01", []slack.MsgOption{fallback, contextOf(11)}, "invalid_blocks"},
		{"an unknown block", "C01", []slack.MsgOption{fallback, slack.MsgOptionBlocks(slack.NewMarkdownBlock("", "# x"))}, "invalid_blocks"},
		{"a block_id twice", "C01", []slack.MsgOption{fallback, slack.MsgOptionBlocks(
			slack.DividerBlock{Type: slack.MBTDivider, BlockID: "a"}, slack.DividerBlock{Type: slack.MBTDivider, BlockID: "a"},
		)}, "invalid_blocks"},
		{"an empty rich text", "C01", []slack.MsgOption{fallback, slack.MsgOptionBlocks(slack.NewRichTextBlock(""))}, "invalid_blocks"},
		{"an empty element of rich text", "C01", []slack.MsgOption{fallback, slack.MsgOptionBlocks(rich(slack.NewRichTextSectionTextElement("", nil)))}, "invalid_blocks"},
		{"an argument that is not known", "C01", []slack.MsgOption{fallback, slack.MsgOptionIconEmoji(":x:")}, "invalid_arguments"},
		{"parse=full", "C01", []slack.MsgOption{fallback, slack.MsgOptionParse(true)}, "fakeslack_parse"},
		{"link_names", "C01", []slack.MsgOption{fallback, slack.MsgOptionLinkNames(true)}, "fakeslack_parse"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := fakeslack.Start(t, workspace())
			channel, ts, err := client(s).PostMessageContext(t.Context(), test.channel, test.options...)
			if got := word(err); got != test.want {
				t.Fatalf("got %q, want %q", got, test.want)
			}
			messages, refusals := s.Messages(), s.Refusals()
			if test.want != "" {
				if len(messages) != 0 || len(refusals) != 1 || refusals[0].Error != test.want || refusals[0].Detail == "" {
					t.Errorf("messages %v, refusals %v", messages, refusals)
				}
				return
			}
			if len(messages) != 1 || len(refusals) != 0 || messages[0].TS != ts || messages[0].Channel != channel || ts == "" {
				t.Errorf("the answer was %s %s, messages %v, refusals %v", channel, ts, messages, refusals)
			}
		})
	}
}

func fields(n, length int) slack.MsgOption {
	list := make([]*slack.TextBlockObject, n)
	for i := range list {
		list[i] = slack.NewTextBlockObject(slack.PlainTextType, strings.Repeat("x", length), false, false)
	}
	return slack.MsgOptionBlocks(slack.NewSectionBlock(nil, list, nil))
}

func contextOf(n int) slack.MsgOption {
	list := make([]slack.MixedElement, n)
	for i := range list {
		list[i] = slack.NewTextBlockObject(slack.MarkdownType, fmt.Sprint(i), false, false)
	}
	return slack.MsgOptionBlocks(slack.NewContextBlock("", list...))
}

// word returns Slack's word for a refusal, "" for none.
func word(err error) string {
	var refused slack.SlackErrorResponse
	if errors.As(err, &refused) {
		return refused.Err
	}
	if err != nil {
		return "other error: " + err.Error()
	}
	return ""
}

func TestToken(t *testing.T) {
	s := fakeslack.Start(t, workspace())
	for given, want := range map[string]string{token: "", "xoxb-other": "invalid_auth", "": "not_authed"} {
		_, _, err := slack.New(given, slack.OptionAPIURL(s.APIURL())).PostMessageContext(t.Context(), "C01", fallback)
		if got := word(err); got != want {
			t.Errorf("token %q: got %q, want %q", given, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	c := workspace()
	c.Interval, c.UpdatesPerMinute = 0, 2
	c.Now = func() time.Time { return now }
	s := fakeslack.Start(t, c)
	api := client(s)
	post := func(channel string) error {
		_, _, err := api.PostMessageContext(t.Context(), channel, fallback)
		return err
	}
	limited := func(what string, err error, want time.Duration) {
		t.Helper()
		var rate *slack.RateLimitedError
		if !errors.As(err, &rate) || rate.RetryAfter != want {
			t.Errorf("%s: got %v, want to wait %v", what, err, want)
		}
	}
	if err := post("C01"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(900 * time.Millisecond)
	limited("a second message within a second", post("C01"), time.Second)
	if err := post("C02"); err != nil {
		t.Errorf("another channel: %v", err)
	}
	now = now.Add(100 * time.Millisecond)
	if err := post("C01"); err != nil {
		t.Errorf("a second later: %v", err)
	}
	ts := s.In("C01")[0].TS
	for i := range 3 {
		_, _, _, err := api.UpdateMessageContext(t.Context(), "C01", ts, fallback)
		if i < 2 && err != nil {
			t.Errorf("update %d: %v", i, err)
		}
		if i == 2 {
			limited("one update too many", err, time.Minute)
		}
		now = now.Add(time.Second / 10)
	}
	if len(s.Messages()) != 3 || len(s.Refusals()) != 0 {
		t.Errorf("messages %v, refusals %v", s.Messages(), s.Refusals())
	}
}

func TestThreadsAndUpdates(t *testing.T) {
	s := fakeslack.Start(t, workspace())
	api := client(s)
	post := func(channel string, options ...slack.MsgOption) (string, string) {
		_, ts, err := api.PostMessageContext(t.Context(), channel, append(options, fallback)...)
		return ts, word(err)
	}
	update := func(channel, ts string, options ...slack.MsgOption) string {
		_, _, _, err := api.UpdateMessageContext(t.Context(), channel, ts, options...)
		return word(err)
	}
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}

	parent, _ := post("C01", section("first"))
	reply, got := post("C01", slack.MsgOptionTS(parent))
	expect("a reply", got, "")
	_, got = post("C01", slack.MsgOptionTS(parent), slack.MsgOptionBroadcast())
	expect("a broadcast reply", got, "")
	_, got = post("C01", slack.MsgOptionBroadcast())
	expect("a broadcast of no reply", got, "invalid_arguments")
	_, got = post("C01", slack.MsgOptionTS("1.000001"))
	expect("a reply to nothing", got, "thread_not_found")
	_, got = post("C02", slack.MsgOptionTS(parent))
	expect("a reply from another channel", got, "thread_not_found")
	_, got = post("C01", slack.MsgOptionTS(reply))
	expect("a reply to a reply", got, "thread_not_found")

	expect("an update", update("C01", parent, section("second"), fallback), "")
	expect("an update of the text only", update("C01", parent, slack.MsgOptionText("third", false)), "")
	expect("an update of nothing", update("C01", "1.000001", fallback), "message_not_found")
	expect("an update in another channel", update("C02", parent, fallback), "message_not_found")
	expect("an update with bad blocks", update("C01", parent, fallback, section("")), "invalid_blocks")

	top := s.In("C01")
	if len(top) != 1 || len(top[0].Earlier) != 2 || top[0].Text != "third" || string(top[0].Blocks) == "" ||
		string(top[0].Blocks) != string(top[0].Earlier[1].Blocks) || string(top[0].Blocks) == string(top[0].Earlier[0].Blocks) {
		t.Errorf("the channel holds %+v", top)
	}
	if replies := s.Replies("C01", parent); len(replies) != 2 || replies[0].TS != reply || !replies[1].Broadcast {
		t.Errorf("the thread holds %+v", replies)
	}
}

// Slack posts a reply to a deleted message as one of its own, and only the
// answer shows it.
func TestDeletedParent(t *testing.T) {
	s := fakeslack.Start(t, workspace())
	api := client(s)
	_, parent, err := api.PostMessageContext(t.Context(), "C01", fallback)
	if err != nil {
		t.Fatal(err)
	}
	_, _, m, err := api.PostMessageWithResponseContext(t.Context(), "C01", fallback, slack.MsgOptionTS(parent))
	if err != nil || m.ThreadTimestamp != parent {
		t.Errorf("a reply says it is in thread %q (%v)", m.ThreadTimestamp, err)
	}
	if !s.Delete("C01", parent) || s.Delete("C01", parent) || s.Delete("C01", "1.000001") {
		t.Error("what was deleted is not what was there")
	}
	_, _, m, err = api.PostMessageWithResponseContext(t.Context(), "C01", fallback, slack.MsgOptionTS(parent))
	if err != nil || m.ThreadTimestamp != "" {
		t.Errorf("a reply to a deleted message says it is in thread %q (%v)", m.ThreadTimestamp, err)
	}
	if _, _, _, err := api.UpdateMessageContext(t.Context(), "C01", parent, fallback); word(err) != "message_not_found" {
		t.Errorf("an update of a deleted message: %v", err)
	}
}
