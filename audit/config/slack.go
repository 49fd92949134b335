package config

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Slack configures the connection to Slack. The destinations are set for each team.
type Slack struct {
	// TokenFile is the path of the file with the bot token. If it is empty, the
	// environment variable AUDIT_SLACK_TOKEN may hold the token; the token itself is
	// never in the config.
	TokenFile string `yaml:"tokenFile"`
	// RemindAfter is how long after the last message an owner is reminded of an open
	// finding; 24 hours by default.
	RemindAfter Duration `yaml:"remindAfter"`
	// ChannelFrom lets Namespaces name the channel of their owner.
	ChannelFrom ChannelFrom `yaml:"channelFrom"`
}

// Channel is the ID of a Slack channel, group or direct message. Names are not
// accepted: a name can be given to another channel, an ID cannot.
type Channel string

var channelID = regexp.MustCompile(`^[CGD][A-Z0-9]{2,}$`)

// UnmarshalText rejects what cannot be a channel ID.
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

// Mention mentions people in a Slack message. It is in Slack's own notation and sent
// as it is, which is safe because only the operator writes the config.
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

// ChannelFrom lets an annotation of a Namespace name the channel in which its owner
// is notified. It is meant for platforms that provision their Namespaces: anyone who
// can annotate a Namespace chooses among the allowed channels. The zero value allows
// none.
type ChannelFrom struct {
	NamespaceAnnotation string `yaml:"namespaceAnnotation"`
	// Allow are the channels that it may name. It is never empty if there is an
	// annotation.
	Allow []ChannelGlob `yaml:"allow"`
}

// Channel returns the channel that the value of the annotation names, and whether it
// is allowed. The channel is an ID or a name without #. If it is not allowed, it is
// arbitrary text that must only be shown to people.
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

// ChannelGlob is a pattern for whole names or IDs of channels, with the syntax of
// Glob.
type ChannelGlob string

// UnmarshalText rejects a pattern that is malformed or that no channel can match.
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
	// As with Glob, patterns with brackets are not checked further.
	if !strings.ContainsAny(s, `[\`) && !couldBeChannel(s) {
		return fmt.Errorf("%s matches no channel: names have lower-case letters, digits, dashes and underscores, IDs have capital letters and digits (in a glob, * matches any text and ? one character)", shown(s))
	}
	*g = ChannelGlob(s)
	return nil
}

// Match reports whether a channel matches the whole pattern.
func (g ChannelGlob) Match(channel string) bool { return Glob(g).Match(channel) }

// couldBeChannel reports whether all literal characters of a pattern can be in a
// name, or all in an ID.
func couldBeChannel(glob string) bool {
	literal := strings.NewReplacer("*", "", "?", "").Replace(glob)
	return literal == "" || idLetters.MatchString(literal) || isChannelName(literal)
}

var idLetters = regexp.MustCompile(`^[A-Z0-9]+$`)

// isChannelName reports whether a text is a valid channel name in Slack, which has
// no capital letters and at most 80 characters. As a regular expression, with these
// classes repeated eighty times, it took 18 ms and 5 MB at each start.
func isChannelName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= 80 && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && !unicode.In(r, unicode.Ll, unicode.Lo, unicode.Lm, unicode.M, unicode.Nd)
	})
}
