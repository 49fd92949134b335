package config_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNotes(t *testing.T) {
	const (
		noFallback = "owners.fallback: is not given: of what nobody owns nobody is told"
		noPlace    = `owners.fallback: "b" is no team with a place in Slack: of what nobody owns nobody is told`
		noToken    = "slack.tokenFile: is not given: AUDIT_SLACK_TOKEN in the environment must hold the token"
	)
	for _, c := range []struct {
		says, config string
		want         []string
	}{
		{"nothing of an empty file", "", nil},
		{"nothing of a fallback where nobody is told in Slack", "owners: {fallback: b}", nil},
		{"that a channel needs a token", "owners: {fallback: a, teams: [{name: a, slack: {channel: C0A}}]}", []string{noToken}},
		{"that a Namespace's channel needs one too", "slack: {channelFrom: {namespaceAnnotation: a, allow: ['*']}}", []string{noFallback, noToken}},
		{"not that an incoming webhook does", "owners: {fallback: a, teams: [{name: a, slack: {webhookFile: f}}]}", nil},
		{"that nobody is the fallback", "owners: {teams: [{name: a, slack: {webhookFile: f}}]}", []string{noFallback}},
		{"that the fallback is no team", "owners: {fallback: b, teams: [{name: a, slack: {webhookFile: f}}]}", []string{noPlace}},
		{"that the fallback has no place", "owners: {fallback: b, teams: [{name: a, slack: {webhookFile: f}}, {name: b}]}", []string{noPlace}},
		{
			"nothing of it where everybody is told by the webhook",
			"{owners: {fallback: b, teams: [{name: a, slack: {webhookFile: f}}]}, webhook: {url: 'http://a', secretFile: f}}", nil,
		},
		{
			"that an exception has expired",
			"exceptions: [{rule: owner-known, subject: {name: a}, reason: r, expires: 2026-12-31}]",
			[]string{"config.yaml:1: exceptions[0].expires: expired (2026-12-31): give it a later end or take it out"},
		},
	} {
		got := parse(t, c.config).Notes(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("it notes %s (-want +got):\n%s", c.says, diff)
		}
	}
}
