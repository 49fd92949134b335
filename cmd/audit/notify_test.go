package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForgottenTokenIsReported: without a token nobody is notified in the channels of the
// config, and the user must learn that.
func TestForgottenTokenIsReported(t *testing.T) {
	t.Parallel()
	const note = "audit: note: no one is notified in a Slack channel: slack.tokenFile and AUDIT_SLACK_TOKEN are not set\n"
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(botToken), 0o600); err != nil {
		t.Fatal(err)
	}
	const team = "owners: {teams: [{name: a, slack: {channel: C0A}}]}\n"
	for _, row := range []struct {
		name, config, environment string
		noted                     bool
	}{
		{"a team's channel without a token", team, "", true},
		{"a Namespace's channel without a token", "slack: {channelFrom: {namespaceAnnotation: a, allow: ['*']}}\n", "", true},
		{"a channel and a token file", team + "slack: {tokenFile: " + token + "}\n", "", false},
		{"a channel and a token in the environment", team, botToken, false},
		{"no channel", "owners: {teams: [{name: a}]}\n", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.yaml")
			if err := os.WriteFile(path, []byte(row.config), 0o600); err != nil {
				t.Fatal(err)
			}
			// No server listens there: the note is printed before anything is read.
			got := executeWith(map[string]string{slackTokenEnv: row.environment}, "--once", "--publish", "--dry-run",
				"--config", path, "--server", "http://127.0.0.1:1", "--kubeconfig", os.DevNull, "--timeout", "1ms")
			if noted := strings.Contains(got.stderr, note); noted != row.noted {
				t.Errorf("note printed: %t, want %t; standard error:\n%s", noted, row.noted, got.stderr)
			}
		})
	}
}
