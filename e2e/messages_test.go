package e2e

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/e2e/node"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
	"github.com/eventuallytrue/audit/rules/catalog"
)

const slackToken = "xoxb-e2e"

// workspace is a strict Slack with the channels and mentions of the config, which pods can
// reach.
type workspace struct {
	*fakeslack.Server
	url string // of the API
}

func openWorkspace(t *testing.T) *workspace {
	t.Helper()
	c, err := config.Read(policy, catalog.All())
	if err != nil {
		t.Fatal(err)
	}
	// No rate limit: the pods send more messages than one per second would allow.
	cfg := fakeslack.Config{Token: slackToken, Channels: map[string]fakeslack.Membership{}, Interval: -1}
	for i := range c.Owners.Teams {
		slack := &c.Owners.Teams[i].Slack
		cfg.Channels[string(slack.Channel)] = fakeslack.Member
		if slack.Mention != "" {
			cfg.Allowed = append(cfg.Allowed, string(slack.Mention))
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(node.Host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{fakeslack.New(cfg), "http://" + listener.Addr().String() + "/api/"}
	server := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	return w
}

// expectNotified checks that all owners of each finding were notified in a message that
// exists, and that Slack rejected nothing.
func (w *installation) expectNotified(t *testing.T) {
	t.Helper()
	if refused := w.slack.Refusals(); len(refused) > 0 {
		t.Errorf("Slack rejected: %+v", refused)
	}
	for name, finding := range w.findings(t) {
		for _, owner := range finding.Status.Owners {
			sent := finding.Status.Notifications
			i := slices.IndexFunc(sent, func(n v1alpha1.Notification) bool { return n.Owner == owner })
			switch {
			case i < 0:
				t.Errorf("no notification of %s about %s: %+v", owner, name, sent)
			case sent[i].Pending != "" || sent[i].ClaimedBy != "" || sent[i].Error != "":
				t.Errorf("incomplete notification of %s about %s: %+v", owner, name, sent[i])
			case !w.slack.has(sent[i].Channel, sent[i].Message):
				t.Errorf("notification of %s about %s in a message that does not exist: %+v", owner, name, sent[i])
			}
		}
	}
}

func (w *workspace) has(channel, ts string) bool {
	return slices.ContainsFunc(w.In(channel), func(m fakeslack.Message) bool { return m.TS == ts })
}

// expectSent checks how many messages in a channel contain a text: the name of a finding
// for messages with its details, or its title for all messages about it.
func (w *installation) expectSent(t *testing.T, channel, text string, want int) {
	t.Helper()
	got := 0
	for _, m := range w.slack.Messages() {
		if m.Channel == channel && strings.Contains(string(m.Blocks), text) {
			got++
		}
	}
	if got != want {
		t.Errorf("%d messages in %s contain %q, want %d", got, channel, text, want)
	}
}
