package drill

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
	"github.com/eventuallytrue/audit/rules/catalog"
)

const slackToken = "xoxb-1-the-token-of-the-drill"

// channelOf is where in Slack a team is told.
func channelOf(team string) string { return "C01" + strings.ToUpper(team) }

// workspace is the Slack of the teams, strict but without a pace, and the config by
// which they are told there.
type workspace struct {
	*fakeslack.Server
	file string
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	cfg := fakeslack.Config{Token: slackToken, Interval: -1, Channels: map[string]fakeslack.Membership{}}
	teams := ""
	for _, team := range []string{"left", "right", "third"} {
		cfg.Channels[channelOf(team)] = fakeslack.Member
		teams += fmt.Sprintf("    - {name: %s, slack: {channel: %s}}\n", team, channelOf(team))
	}
	dir := t.TempDir()
	token, file := filepath.Join(dir, "token"), filepath.Join(dir, "config.yaml")
	for path, content := range map[string]string{
		token: slackToken, file: "slack: {tokenFile: " + token + "}\nowners:\n  teams:\n" + teams,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &workspace{fakeslack.Start(t, cfg), file}
}

// config is the config as the program reads it.
func (w *workspace) config(t *testing.T) config.Config {
	t.Helper()
	c, err := config.Read(w.file, catalog.All())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// args are the arguments by which owners are told in this Slack, which is at a URL.
func (w *workspace) args(url string) []string {
	return []string{"--config", w.file, "--slack-api-url", url}
}

// neverRefused fails the test where Slack was sent what it does not take.
func (w *workspace) neverRefused(t *testing.T) {
	t.Helper()
	for _, r := range w.Refusals() {
		t.Errorf("Slack refused: %+v", r)
	}
}

// news is one thing that a channel is told of a host.
type news struct{ channel, what, host string }

// What a channel is told. A finding that came back is new.
const (
	isNew      = "new"
	isDetails  = "details"
	isChanged  = "changed"
	isResolved = "resolved"
	isReleased = "released"
)

var hostPattern = regexp.MustCompile(`host-\d{4}\.example\.com`)

// heard returns what a message told when it was posted, each thing once.
func heard(t *testing.T, m fakeslack.Message) []news {
	t.Helper()
	raw := m.Blocks
	if len(m.Earlier) > 0 {
		raw = m.Earlier[0].Blocks
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil {
		t.Fatalf("read the blocks of %s: %v", m.TS, err)
	}
	var out []news
	for _, block := range blocks {
		what := toldBy(m, string(blocks[0]), string(block))
		for _, host := range hostPattern.FindAllString(string(block), -1) {
			if n := (news{m.Channel, what, host}); !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// toldBy says what a block of a message tells of the hosts in it.
func toldBy(m fakeslack.Message, first, block string) string {
	switch {
	case strings.Contains(first, "new finding"), strings.Contains(first, "came back"):
		return isNew
	case strings.HasPrefix(m.Text, "Details of"):
		return isDetails
	case strings.Contains(block, `"Resolved"`):
		return isResolved
	case strings.Contains(block, "not yours any more"):
		return isReleased
	case strings.Contains(block, "kubectl describe finding"):
		return isChanged
	}
	return "something else"
}

// heardIn counts what messages told.
func heardIn(t *testing.T, messages []fakeslack.Message) map[news]int {
	t.Helper()
	n := map[news]int{}
	for _, m := range messages {
		for _, each := range heard(t, m) {
			n[each]++
		}
	}
	return n
}
