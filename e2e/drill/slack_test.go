package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/slack"
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
func (w *workspace) expectNoRefusals(t *testing.T) {
	t.Helper()
	for _, r := range w.Refusals() {
		t.Errorf("Slack refused: %+v", r)
	}
}

// news is one thing that a channel is told of a host.
type notice struct{ channel, what, host string }

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
func noticesIn(t *testing.T, m fakeslack.Message) []notice {
	t.Helper()
	raw := m.Blocks
	if len(m.Earlier) > 0 {
		raw = m.Earlier[0].Blocks
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil {
		t.Fatalf("read the blocks of %s: %v", m.TS, err)
	}
	var out []notice
	for _, block := range blocks {
		what := noticeKind(m, string(blocks[0]), string(block))
		for _, host := range hostPattern.FindAllString(string(block), -1) {
			if n := (notice{m.Channel, what, host}); !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// toldBy says what a block of a message tells of the hosts in it.
func noticeKind(m fakeslack.Message, first, block string) string {
	switch {
	case strings.Contains(first, "new finding"), strings.Contains(first, "reopened"):
		return isNew
	case strings.HasPrefix(m.Text, "Details of"):
		return isDetails
	case strings.Contains(block, `"Resolved"`):
		return isResolved
	case strings.Contains(block, "no longer yours"):
		return isReleased
	case strings.Contains(block, "kubectl describe finding"):
		return isChanged
	}
	return "something else"
}

// heardIn counts what messages told.
func countNotices(t *testing.T, messages []fakeslack.Message) map[notice]int {
	t.Helper()
	n := map[notice]int{}
	for _, m := range messages {
		for _, each := range noticesIn(t, m) {
			n[each]++
		}
	}
	return n
}

// deliveries counts what owners are told in a Slack.
type deliveries struct {
	slack *workspace

	mu       sync.Mutex
	sent     map[sentNotice]int
	by       map[string]int // messages, by who sent them
	from     int            // how many messages Slack had before
	reported int            // news in the results of sweeps, whoever wrote it in the end
}

// telling is something that an owner must not be told twice.
type sentNotice struct {
	notice
	id   string
	life int    // how often the finding had come back
	of   string // the owners, of what changed: in one life they may change often
}

func newDeliveries(t *testing.T) *deliveries {
	t.Helper()
	d := &deliveries{slack: newWorkspace(t)}
	d.reset()
	return d
}

// believe counts what the result of a sweep says is new.
func (d *deliveries) addReported(all []audit.Transition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range all {
		switch t.Why {
		case audit.ReasonOpened, audit.ReasonReopened, audit.ReasonResolved:
			d.reported++
		}
	}
}

// forget begins to count anew.
func (d *deliveries) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent, d.by, d.reported = map[sentNotice]int{}, map[string]int{}, 0
	d.from = len(d.slack.Messages())
}

// count returns how much was told, and how much of it more than once. The details of
// what is new are no news of their own, and must not come twice either.
func (d *deliveries) count() (all, twice int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for what, n := range d.sent {
		if what.what != isDetails {
			all += n
		}
		twice += n - 1
	}
	return all, twice
}

// messages are those that Slack holds.
func (d *deliveries) messages() []fakeslack.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.slack.Messages()[d.from:]
}

// check holds what was counted against what Slack holds.
func (d *deliveries) check(t *testing.T) {
	t.Helper()
	d.slack.expectNoRefusals(t)
	messages := d.messages()
	d.mu.Lock()
	defer d.mu.Unlock()
	counted := map[notice]int{}
	for what, n := range d.sent {
		counted[what.notice] += n
	}
	if diff := cmp.Diff(counted, countNotices(t, messages), cmp.AllowUnexported(notice{})); diff != "" {
		t.Errorf("what owners were told (-counted +in Slack):\n%s", diff)
	}
}

// sender returns the sender by which a replica tells owners in Slack. Slack sets no
// pace, so it keeps none.
func (d *deliveries) sender(of string) notify.Sender {
	token := func() (notify.Secret, error) { return notify.NewSecret([]byte(slackToken)) }
	impatient := slack.Clock{Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	return countingSender{slack.NewBot(token, d.slack.APIURL(), slack.Options{Clock: impatient}), of, d}
}

// counting is a sender that counts what was told by it.
type countingSender struct {
	notify.Sender
	by         string
	deliveries *deliveries
}

// counted is the body of a message, with what the message is about.
type countedBody struct {
	body  any
	items []notify.Item
}

func (s countingSender) Plan(d notify.Digest) []notify.Message {
	plan := s.Sender.Plan(d)
	for i := range plan {
		plan[i].Body = countedBody{plan[i].Body, d.Items}
	}
	return plan
}

func (s countingSender) Send(ctx context.Context, to notify.Recipient, m notify.Message, beneath audit.MessageRef) (audit.MessageRef, error) {
	c := m.Body.(countedBody)
	m.Body = c.body
	at, err := s.Sender.Send(ctx, to, m, beneath)
	if err == nil {
		s.deliveries.record(s.by, to, m, c.items)
	}
	return at, err
}

// tell counts a message that Slack took.
func (d *deliveries) record(by string, to notify.Recipient, m notify.Message, items []notify.Item) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(m.Covers) > 0 {
		d.by[by]++
	}
	for _, c := range m.Covers {
		for _, it := range items {
			if it.Record.ID != c.ID {
				continue
			}
			told := sentNotice{notice{to.Address, string(c.Event), it.Record.Subject.Name}, c.ID, it.Record.Reopened, ""}
			switch c.Event {
			case audit.EventOpened, audit.EventReopened:
				told.what = isNew
			case audit.EventChanged:
				told.of = strings.Join(it.Record.Owners, " ")
			}
			d.sent[told]++
			break
		}
	}
}
