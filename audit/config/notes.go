package config

import (
	"fmt"
	"slices"
	"time"
)

// Notes returns what of a sound config may not be what its writer had in mind,
// each in a line, sorted.
func (c *Config) Notes(now time.Time) []string {
	var notes []string
	for _, e := range c.Expired(now) {
		notes = append(notes, e.Error())
	}
	channels := c.UsesChannels()
	places := channels
	for i := range c.Owners.Teams {
		places = places || c.Owners.Teams[i].Slack.HasDestination()
	}
	fallback := c.Owners.Team(c.Owners.Fallback)
	switch {
	case !places || c.Webhook.URL != "":
	case c.Owners.Fallback == "":
		notes = append(notes, "owners.fallback: is not given: of what nobody owns nobody is told")
	case fallback == nil || !fallback.Slack.HasDestination():
		notes = append(notes, fmt.Sprintf("owners.fallback: %s is no team with a place in Slack: of what nobody owns nobody is told", shown(c.Owners.Fallback)))
	}
	if channels && c.Slack.TokenFile == "" {
		notes = append(notes, "slack.tokenFile: is not given: AUDIT_SLACK_TOKEN in the environment must hold the token")
	}
	slices.Sort(notes)
	return notes
}
