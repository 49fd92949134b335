package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// TestForgottenTokenIsReported: without a token nobody is notified in the channels of the
// config. A sweep that ends with code 0 would look as if all owners had been.
func TestForgottenTokenIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(botToken), 0o600); err != nil {
		t.Fatal(err)
	}
	const team = "owners: {teams: [{name: a, slack: {channel: C0A}}]}\n"
	for _, row := range []struct {
		name, config, environment string
		unready                   bool
	}{
		{"a team's channel without a token", team, "", true},
		{"the fallback owner's channel without a token", "owners: {fallback: a, teams: [{name: a, slack: {channel: C0A}}]}\n", "", true},
		{"a Namespace's channel without a token", "slack: {channelFrom: {namespaceAnnotation: a, allow: ['*']}}\n", "", true},
		{"a channel and a token file", team + "slack: {tokenFile: " + token + "}\n", "", false},
		{"a channel and a token in the environment", team, botToken, false},
		{"no channel", "owners: {teams: [{name: a}]}\n", "", false},
		{"a channel of a team that is report only", "owners: {teams: [{name: a, reportOnly: true, slack: {channel: C0A}}]}\n", "", false},
		{"one team is report only", "owners: {teams: [{name: a, reportOnly: true, slack: {channel: C0A}}, {name: b, slack: {channel: C0B}}]}\n", "", true},
		{"all rules are report only", team + "profile: observe\n", "", false},
		{"all rules but one are report only", team + "profile: observe\nrules: {owner-known: {reportOnly: false}}\n", "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := config.Parse([]byte(row.config), "audit.yaml", catalog.All())
			if err != nil {
				t.Fatal(err)
			}
			n := &notifying{config: &c, token: row.environment}
			senders, err := n.senders()
			if err != nil {
				t.Fatal(err)
			}
			got := n.unready(senders)
			if (len(got) > 0) != row.unready {
				t.Fatalf("not ready: %+v, want %t", got, row.unready)
			}
			for _, u := range got {
				if u.Sender != notify.SlackName || !strings.Contains(u.Reason, "slack.tokenFile or "+slackTokenEnv) || len(senders) == 0 {
					t.Errorf("it does not say what to do: %+v", u)
				}
			}
		})
	}
}
