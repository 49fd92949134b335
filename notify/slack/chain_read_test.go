package slack_test

import (
	"fmt"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// thread is a message that stands in a channel, with its replies.
type thread struct {
	fakeslack.Message
	replies []fakeslack.Message
}

// channels returns what stands in each channel, in the order of its arrival.
func (c *chain) channels() map[string][]thread {
	out := map[string][]thread{}
	at := map[audit.MessageRef]int{}
	for _, m := range c.slack.Messages() {
		if m.Thread == "" {
			at[audit.MessageRef{Channel: m.Channel, Message: m.TS}] = len(out[m.Channel])
			out[m.Channel] = append(out[m.Channel], thread{Message: m})
			continue
		}
		parent := &out[m.Channel][at[audit.MessageRef{Channel: m.Channel, Message: m.Thread}]]
		parent.replies = append(parent.replies, m)
	}
	return out
}

// teams is a registry of teams, each with a channel of its own, and the workspace
// that has them.
func teams(n int) (fakeslack.Config, string) {
	ws := fakeslack.Config{Channels: map[string]fakeslack.Membership{"C000": fakeslack.Member}}
	var b strings.Builder
	b.WriteString("cluster: prod-eu-1\nowners:\n  fallback: platform\n  teams:\n    - {name: platform, slack: {channel: C000}}\n")
	for o := range n {
		ws.Channels[channelOf(team(o))] = fakeslack.Member
		fmt.Fprintf(&b, "    - {name: %s, slack: {channel: %s, mention: %q}}\n", team(o), channelOf(team(o)), mention)
	}
	return ws, b.String() + "slack: {tokenFile: token}\n"
}

func team(n int) string { return fmt.Sprintf("team-%03d", n) }

// text returns what messages show, unescaped by JSON alone.
func text(messages ...fakeslack.Message) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Text + "\n" + string(m.Blocks) + "\n")
	}
	return b.String()
}

// top returns the one message that stands in a channel.
func (c *chain) top(all map[string][]thread, channel string) thread {
	c.t.Helper()
	in := all[channel]
	if len(in) != 1 {
		c.t.Fatalf("%s: %d messages stand there", channel, len(in))
	}
	return in[0]
}
