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

// workspace is a strict Slack with the channels and mentions of the policy, that the
// pods can reach.
type workspace struct {
	*fakeslack.Server
	url string // of its API
}

func openWorkspace(t *testing.T) *workspace {
	t.Helper()
	c, err := config.Read(policy, catalog.All())
	if err != nil {
		t.Fatal(err)
	}
	// The pods send what a message a second would take too long for.
	plays := fakeslack.Config{Token: slackToken, Channels: map[string]fakeslack.Membership{}, Interval: -1}
	for i := range c.Owners.Teams {
		slack := &c.Owners.Teams[i].Slack
		plays.Channels[string(slack.Channel)] = fakeslack.Member
		if slack.Mention != "" {
			plays.Allowed = append(plays.Allowed, string(slack.Mention))
		}
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(node.Host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{fakeslack.New(plays), "http://" + listener.Addr().String() + "/api/"}
	server := &http.Server{Handler: w, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	return w
}

// expectTold checks that each finding was told to all its owners, in a message that
// is there, and that Slack refused nothing.
func (w *installation) expectNotified(t *testing.T) {
	t.Helper()
	if refused := w.slack.Refusals(); len(refused) > 0 {
		t.Errorf("Slack refused: %+v", refused)
	}
	for name, finding := range w.findings(t) {
		for _, owner := range finding.Status.Owners {
			told := finding.Status.Notifications
			i := slices.IndexFunc(told, func(told v1alpha1.Notification) bool { return told.Owner == owner })
			switch {
			case i < 0:
				t.Errorf("%s was not told of %s: %+v", owner, name, told)
			case told[i].Pending != "" || told[i].ClaimedBy != "" || told[i].Error != "":
				t.Errorf("%s was not told of %s to the end: %+v", owner, name, told[i])
			case !w.slack.has(told[i].Channel, told[i].Message):
				t.Errorf("%s was told of %s in a message that is not there: %+v", owner, name, told[i])
			}
		}
	}
}

func (w *workspace) has(channel, ts string) bool {
	return slices.ContainsFunc(w.In(channel), func(m fakeslack.Message) bool { return m.TS == ts })
}

// expectSent checks how many messages of a channel have a text: with the name of a
// finding those that tell all of it, with its title those that tell of it.
func (w *installation) expectSent(t *testing.T, channel, text string, want int) {
	t.Helper()
	got := 0
	for _, m := range w.slack.Messages() {
		if m.Channel == channel && strings.Contains(string(m.Blocks), text) {
			got++
		}
	}
	if got != want {
		t.Errorf("%d messages in %s have %q, want %d", got, channel, text, want)
	}
}
