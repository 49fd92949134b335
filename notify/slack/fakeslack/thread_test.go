package fakeslack_test

import (
	"testing"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

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
