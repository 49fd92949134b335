package config

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Slack says how to talk to Slack. Whom to talk to stands with each team.
type Slack struct {
	// TokenFile is the path of the file that holds the bot token. Where it is
	// empty the environment variable AUDIT_SLACK_TOKEN may hold the token; the
	// token itself never stands in the config.
	TokenFile string `yaml:"tokenFile"`
	// RemindAfter is how long an owner hears nothing of a finding that stays
	// open; 24 hours by default.
	RemindAfter Duration `yaml:"remindAfter"`
	// ChannelFrom lets Namespaces name the channel of their owner.
	ChannelFrom ChannelFrom `yaml:"channelFrom"`
}

// ChannelFrom lets an annotation of a Namespace name the channel in which its
// owner is told. It is for platforms that provision their Namespaces themselves:
// whoever can annotate a Namespace chooses among the allowed channels. The zero
// value lets none.
type ChannelFrom struct {
	NamespaceAnnotation string `yaml:"namespaceAnnotation"`
	// Allow are the channels that it may name. It never is empty where there is
	// an annotation.
	Allow []ChannelGlob `yaml:"allow"`
}

var idLetters = regexp.MustCompile(`^[A-Z0-9]+$`)

// isChannelName reports whether Slack takes a text for the name of a channel, which
// knows no capitals and has up to 80 characters. As a regular expression, with these
// classes eighty times over, it took every start 18 ms and 5 MB.
func isChannelName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= 80 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.In(r, unicode.Ll, unicode.Lo, unicode.Lm, unicode.M, unicode.Nd)
	})
}

// Channel returns the channel that the value of the annotation names, and
// whether it may be used. The channel is an ID or a name without the # before
// it. One that may not be used is any text, and is to be shown to people at most.
func (c ChannelFrom) Channel(value string) (channel string, allowed bool) {
	channel = strings.TrimPrefix(strings.TrimSpace(value), "#")
	if !channelID.MatchString(channel) && !isChannelName(channel) {
		return channel, false
	}
	for _, glob := range c.Allow {
		if glob.Match(channel) {
			return channel, true
		}
	}
	return channel, false
}

// ChannelGlob is a pattern for whole names or IDs of channels, which Glob says how
// to read.
type ChannelGlob string

// UnmarshalText refuses a pattern that is malformed or that no channel can match.
func (g *ChannelGlob) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "" {
		return fmt.Errorf("must not be empty: use a channel, or * for all")
	}
	if strings.HasPrefix(s, "#") {
		return fmt.Errorf("%s begins with #: use the channel name without it", shown(s))
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("%s is not a valid glob: it has an unclosed or empty bracket, or a trailing backslash", shown(s))
	}
	// As with Glob, what has brackets in it is taken as it is.
	if !strings.ContainsAny(s, `[\`) && !couldBeChannel(s) {
		return fmt.Errorf("%s matches no channel: names have lower-case letters, digits, dashes and underscores, IDs have capital letters and digits (in a glob, * matches any text and ? one character)", shown(s))
	}
	*g = ChannelGlob(s)
	return nil
}

// Match reports whether a channel matches the whole pattern.
func (g ChannelGlob) Match(channel string) bool { return Glob(g).Match(channel) }

// couldBeChannel reports whether all that a pattern has in it can be in a name, or
// all of it in an ID.
func couldBeChannel(glob string) bool {
	literal := strings.NewReplacer("*", "", "?", "").Replace(glob)
	return literal == "" || idLetters.MatchString(literal) || isChannelName(literal)
}

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
		return fmt.Errorf("must not be empty: omit the key instead")
	case strings.HasPrefix(s, "#"):
		return fmt.Errorf("%s is a channel name: use the channel ID, such as C0123456789, which Slack shows at the bottom of the channel details", shown(s))
	}
	return fmt.Errorf("%s is not a valid channel ID: use C, G or D followed by capital letters and digits, such as C0123456789", shown(s))
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
		return fmt.Errorf("must not be empty: omit the key to mention no one")
	case s == "@here" || s == "@channel":
		return fmt.Errorf(`%s is not in Slack's notation: use "<!%s>"`, shown(s), s[1:])
	}
	return fmt.Errorf(`%s is not a valid mention: use "<@U...>" or "<@W...>" for a person, "<!subteam^S...>" for a user group, "<!here>" or "<!channel>"`, shown(s))
}
