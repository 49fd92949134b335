package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
)

// TestForgottenTokenIsTold: a config with channels and no token tells nobody in them,
// which must not look like owners who were told.
func TestForgottenTokenIsTold(t *testing.T) {
	t.Parallel()
	const note = "audit: note: nobody is told in a channel of Slack: slack.tokenFile is not given, and AUDIT_SLACK_TOKEN is not set\n"
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte(botToken), 0o600); err != nil {
		t.Fatal(err)
	}
	const team = "owners: {teams: [{name: a, slack: {channel: C0A}}]}\n"
	for _, row := range []struct {
		name, config, environment string
		told                      bool
	}{
		{"a team's channel without a token", team, "", true},
		{"a Namespace's channel without a token", "slack: {channelFrom: {namespaceAnnotation: a, allow: ['*']}}\n", "", true},
		{"a channel and a token file", team + "slack: {tokenFile: " + token + "}\n", "", false},
		{"a channel and a token in the environment", team, botToken, false},
		{"nobody who has a channel", "owners: {teams: [{name: a}]}\n", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "audit.yaml")
			if err := os.WriteFile(path, []byte(row.config), 0o600); err != nil {
				t.Fatal(err)
			}
			// Nobody listens there: what is said is said before anything is read.
			got := executeWith(map[string]string{slackToken: row.environment}, "--once", "--publish", "--dry-run",
				"--config", path, "--server", "http://127.0.0.1:1", "--kubeconfig", os.DevNull, "--timeout", "1ms")
			if told := strings.Contains(got.stderr, note); told != row.told {
				t.Errorf("it is told: %t, want %t; standard error:\n%s", told, row.told, got.stderr)
			}
		})
	}
}

// Where a right is missing, all writes of a sweep fail alike.
func TestWhatFailedIsShownInAFewLines(t *testing.T) {
	var failed []string
	for i := range 500 {
		failed = append(failed, fmt.Sprintf("f%d: forbidden", i))
	}
	got := someLines(failed)
	if lines := strings.Split(got, "\n"); len(lines) != 11 || lines[0] != failed[0] || lines[10] != "and 490 more" {
		t.Errorf("it says\n%s", got)
	}
	if got := someLines(failed[:10]); got != strings.Join(failed[:10], "\n") {
		t.Errorf("of few it says\n%s", got)
	}
	// Events are for nobody in particular.
	lines := untold([]audit.Delivery{{Sender: "events", Result: audit.DeliveryFailed, Reason: "timeout"}, {Owner: "a", Sender: "slack", Result: audit.DeliveryFailed, Reason: "timeout"}})
	if diff := cmp.Diff([]string{"events: failed: timeout", "a by slack: failed: timeout"}, lines); diff != "" {
		t.Errorf("untold (-want +got):\n%s", diff)
	}
}
