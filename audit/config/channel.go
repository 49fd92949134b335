package config

import (
	"fmt"
	"regexp"
	"strings"
)

// Channel is the ID of a Slack channel, group or direct message. It is no name:
// a name can be given to another channel, and an ID cannot.
type Channel string

var channelID = regexp.MustCompile(`^[CGD][A-Z0-9]{2,}$`)

// UnmarshalText refuses what cannot be the ID of a channel.
func (c *Channel) UnmarshalText(text []byte) error {
	s := string(text)
	switch {
	case channelID.MatchString(s):
		*c = Channel(s)
		return nil
	case s == "":
		return fmt.Errorf("is empty: leave the key out where there is none")
	case strings.HasPrefix(s, "#"):
		return fmt.Errorf("%s is the name of a channel: write its ID, such as C0123456789, which Slack shows at the foot of the channel's details", shown(s))
	}
	return fmt.Errorf("%s is no channel ID: it is C, G or D with capitals and digits behind it, such as C0123456789", shown(s))
}

// Mention calls people in a Slack message. It is in Slack's own notation and is
// sent as it is, which is safe since only the operator writes the config.
type Mention string

var mention = regexp.MustCompile(`^<(@[UW][A-Z0-9]+|!subteam\^S[A-Z0-9]+|!here|!channel)>$`)

// UnmarshalText reads <@U...>, <@W...>, <!subteam^S...>, <!here> or <!channel>.
func (m *Mention) UnmarshalText(text []byte) error {
	s := string(text)
	switch {
	case mention.MatchString(s):
		*m = Mention(s)
		return nil
	case s == "":
		return fmt.Errorf("is empty: leave the key out where nobody is to be called")
	case s == "@here" || s == "@channel":
		return fmt.Errorf(`%s is a mention as people type it: write "<!%s>"`, shown(s), s[1:])
	}
	return fmt.Errorf(`%s is no mention: write "<@U...>" or "<@W...>" for a person, "<!subteam^S...>" for a user group, "<!here>" or "<!channel>"`, shown(s))
}
