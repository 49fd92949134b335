package config_test

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/config"
)

func TestChannelFrom(t *testing.T) {
	from := config.ChannelFrom{NamespaceAnnotation: "channel", Allow: []config.ChannelGlob{"team-*", "C0*"}}
	all := config.ChannelFrom{NamespaceAnnotation: "channel", Allow: []config.ChannelGlob{"*"}}
	for _, c := range []struct {
		says, value string
		from        config.ChannelFrom
		channel     string
		allowed     bool
	}{
		{"a name that is allowed counts", "team-a", from, "team-a", true},
		{"a name may have its # before it", "#team-a", from, "team-a", true},
		{"spaces around it say nothing", " team-a\n", from, "team-a", true},
		{"an ID that is allowed counts", "C0123456789", from, "C0123456789", true},
		{"another ID does not", "C1234567890", from, "C1234567890", false},
		{"another name does not", "general", from, "general", false},
		{"an allowed name within another does not", "my-team-a", from, "my-team-a", false},
		{"a second # is not part of a name", "##team-a", from, "#team-a", false},
		{"names know no capitals", "team-A", from, "team-A", false},
		{"a mention is not a channel, whatever is allowed", "<!channel>", all, "<!channel>", false},
		{"nor are two channels", "team-a,team-b", all, "team-a,team-b", false},
		{"nor is a person", "@boss", all, "@boss", false},
		{"nor is a line break", "team-a\nteam-b", all, "team-a\nteam-b", false},
		{"nor is nothing", "", all, "", false},
		{"nor is a name longer than Slack has", strings.Repeat("a", 81), all, strings.Repeat("a", 81), false},
		{"a name as long as Slack has is one, whatever its letters take", strings.Repeat("é", 80), all, strings.Repeat("é", 80), true},
		{"neither is invalid text", "team\xff", all, "team\xff", false},
		{"every name can be allowed", "全社", all, "全社", true},
		{"and every ID", "G01", all, "G01", true},
		{"without anything allowed nothing is", "team-a", config.ChannelFrom{}, "team-a", false},
	} {
		if channel, allowed := c.from.Channel(c.value); channel != c.channel || allowed != c.allowed {
			t.Errorf("%s: %q is channel %q, allowed %v; want %q, %v", c.says, c.value, channel, allowed, c.channel, c.allowed)
		}
	}
}
