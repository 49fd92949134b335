package config

import (
	"regexp"
	"strconv"
	"unicode/utf8"
)

// secrets are what people paste into the wrong field: tokens of Slack, the
// address of an incoming webhook, and whatever stands before the @ of a URL.
var secrets = regexp.MustCompile(`(?is)(xox[a-z]|xapp)-[a-z0-9._-]*|hooks\.slack(-gov)?\.com.*|//.*@`)

// holdsSecret reports whether a text holds what looks like a secret.
func holdsSecret(s string) bool { return secrets.MatchString(s) }

// shown returns a value of the file as a message may show it: quoted, on one
// line, without what looks like a secret, and not too long.
func shown(value string) string {
	// Clipped last, for half a secret would not be recognised.
	return strconv.Quote(clip(secrets.ReplaceAllString(value, "<secret>"), 60))
}

// clip cuts a text to at most so many characters.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}
