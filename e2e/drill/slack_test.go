package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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

// channelOf returns the Slack channel of a team.
func channelOf(team string) string { return "C01" + strings.ToUpper(team) }

// workspace is a strict Slack without a rate limit, and a config file that notifies
// the teams there.
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

// config returns the config as the program reads it.
func (w *workspace) config(t *testing.T) config.Config {
	t.Helper()
	c, err := config.Read(w.file, catalog.All())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// args returns the arguments for notifications in this Slack, at the given URL.
func (w *workspace) args(url string) []string {
	return []string{"--config", w.file, "--slack-api-url", url}
}

// expectNoRefusals fails the test if Slack rejected a request as invalid.
func (w *workspace) expectNoRefusals(t *testing.T) {
	t.Helper()
	for _, r := range w.Refusals() {
		if r.Detail == io.ErrUnexpectedEOF.Error() {
			continue // the publisher was killed while it sent the request
		}
		t.Errorf("Slack rejected: %+v", r)
	}
}

// notice is what a message says about a host.
type notice struct{ channel, what, host string }

// Kinds of notices. A reopened finding is new.
const (
	isNew      = "new"
	isDetails  = "details"
	isChanged  = "changed"
	isResolved = "resolved"
	isReleased = "released"
)

var (
	hostPattern  = regexp.MustCompile(`host-\d{4}\.example\.com`)
	titlePattern = regexp.MustCompile(`(\d+) (?:new findings?|findings? reopened)(?: and (\d+) reopened)?`)
)

// noticesIn returns the notices in a message as it was posted, each once. Like findings are
// on one line that says how many there are: which ones is in the details in the thread,
// which must be among all messages.
func noticesIn(t *testing.T, m fakeslack.Message, all []fakeslack.Message) []notice {
	t.Helper()
	blocks := blocksOf(t, m)
	var out []notice
	add := func(what, text string, most int) {
		for _, host := range hostPattern.FindAllString(text, -1) {
			if n := (notice{m.Channel, what, host}); len(out) < most && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	for _, block := range blocks {
		add(noticeKind(m, blocks[0], block), block, math.MaxInt)
	}
	title := titlePattern.FindStringSubmatch(blocks[0])
	if title == nil {
		return out
	}
	announced := 0
	for _, n := range title[1:] {
		count, _ := strconv.Atoi(n) // empty, or digits
		announced += count
	}
	for _, reply := range all {
		if reply.Thread == m.TS && reply.Channel == m.Channel && isDetailsMessage(reply) {
			for _, block := range blocksOf(t, reply) {
				add(isNew, block, announced)
			}
		}
	}
	return out
}

// blocksOf returns the blocks of a message as it was posted.
func blocksOf(t *testing.T, m fakeslack.Message) []string {
	t.Helper()
	raw := m.Blocks
	if len(m.Earlier) > 0 {
		raw = m.Earlier[0].Blocks
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(raw, &blocks); err != nil || len(blocks) == 0 {
		t.Fatalf("read the blocks of %s: %v, %s", m.TS, err, raw)
	}
	var out []string
	for _, b := range blocks {
		out = append(out, string(b))
	}
	return out
}

func isDetailsMessage(m fakeslack.Message) bool { return strings.HasPrefix(m.Text, "Details of") }

// noticeKind returns the kind of the notices in a block of a message.
func noticeKind(m fakeslack.Message, first, block string) string {
	switch {
	case strings.Contains(first, "new finding"), strings.Contains(first, "reopened"):
		return isNew
	case isDetailsMessage(m):
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

// countNotices counts the notices in messages. Their threads must be among them.
func countNotices(t *testing.T, messages []fakeslack.Message) map[notice]int {
	t.Helper()
	n := map[notice]int{}
	for _, m := range messages {
		for _, each := range noticesIn(t, m, messages) {
			n[each]++
		}
	}
	return n
}

// deliveries counts the notifications in a Slack.
type deliveries struct {
	slack *workspace
	ahead atomic.Int64 // by how much the publishers' clock is ahead of the real one

	mu       sync.Mutex
	sent     map[sentNotice]int
	by       map[string]int // messages, by sender
	from     int            // number of earlier messages in Slack
	reported int            // transitions in the results of sweeps, whichever publisher wrote them
}

// sentNotice is a notice that an owner must not get twice.
type sentNotice struct {
	notice
	id   string
	life int    // how often the finding was reopened
	of   string // the owners, for changes: they may change several times
}

func newDeliveries(t *testing.T) *deliveries {
	t.Helper()
	d := &deliveries{slack: newWorkspace(t)}
	d.reset()
	return d
}

// now is the publishers' clock.
func (d *deliveries) now() time.Time { return time.Now().Add(time.Duration(d.ahead.Load())) }

// wait lets so much time pass between two sweeps that no notification is held back,
// neither after a lost response nor because its finding keeps changing.
func (d *deliveries) wait() { d.ahead.Add(int64(7 * time.Hour)) }

// addReported counts the transitions in the result of a sweep.
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

// reset restarts the counts.
func (d *deliveries) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent, d.by, d.reported = map[sentNotice]int{}, map[string]int{}, 0
	d.from = len(d.slack.Messages())
}

// count returns the number of notices and of duplicates. Details of a new finding don't
// count as a notice, but must not be duplicated either.
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

// messages returns the messages in Slack since the last reset.
func (d *deliveries) messages() []fakeslack.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.slack.Messages()[d.from:]
}

// check compares the counts with the messages in Slack.
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
		t.Errorf("notices (-counted +in Slack):\n%s", diff)
	}
}

// sender returns the Slack sender of a replica. It does not wait between messages
// because Slack has no rate limit here.
func (d *deliveries) sender(of string) notify.Sender {
	token := func() (notify.Secret, error) { return notify.NewSecret([]byte(slackToken)) }
	impatient := slack.Clock{Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	return countingSender{slack.NewBot(token, d.slack.APIURL(), slack.Options{Clock: impatient}), of, d}
}

// countingSender is a sender that counts the notices it sends.
type countingSender struct {
	notify.Sender
	by         string
	deliveries *deliveries
}

// countedBody is the body of a message with the items of its digest.
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

// record counts a message that Slack accepted.
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
			sent := sentNotice{notice{to.Address, string(c.Event), it.Record.Subject.Name}, c.ID, it.Record.Reopened, ""}
			switch c.Event {
			case audit.EventOpened, audit.EventReopened:
				sent.what = isNew
			case audit.EventChanged:
				sent.of = strings.Join(it.Record.Owners, " ")
			}
			d.sent[sent]++
			break
		}
	}
}
