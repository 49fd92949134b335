package drill

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// deliveries counts what owners are told in a Slack.
type deliveries struct {
	slack *workspace

	mu       sync.Mutex
	told     map[telling]int
	by       map[string]int // messages, by who sent them
	from     int            // how many messages Slack had before
	believed int            // news in the results of sweeps, whoever wrote it in the end
}

// telling is something that an owner must not be told twice.
type telling struct {
	news
	id   string
	life int    // how often the finding had come back
	of   string // the owners, of what changed: in one life they may change often
}

func newDeliveries(t *testing.T) *deliveries {
	t.Helper()
	d := &deliveries{slack: newWorkspace(t)}
	d.forget()
	return d
}

// believe counts what the result of a sweep says is new.
func (d *deliveries) believe(all []audit.Transition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range all {
		switch t.Why {
		case audit.ReasonOpened, audit.ReasonReopened, audit.ReasonResolved:
			d.believed++
		}
	}
}

// forget begins to count anew.
func (d *deliveries) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told, d.by, d.believed = map[telling]int{}, map[string]int{}, 0
	d.from = len(d.slack.Messages())
}

// count returns how much was told, and how much of it more than once. The details of
// what is new are no news of their own, and must not come twice either.
func (d *deliveries) count() (all, twice int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for what, n := range d.told {
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
	d.slack.neverRefused(t)
	messages := d.messages()
	d.mu.Lock()
	defer d.mu.Unlock()
	counted := map[news]int{}
	for what, n := range d.told {
		counted[what.news] += n
	}
	if diff := cmp.Diff(counted, heardIn(t, messages), cmp.AllowUnexported(news{})); diff != "" {
		t.Errorf("what owners were told (-counted +in Slack):\n%s", diff)
	}
}

// sender returns the sender by which a replica tells owners in Slack. Slack sets no
// pace, so it keeps none.
func (d *deliveries) sender(of string) notify.Sender {
	token := func() (notify.Secret, error) { return notify.NewSecret([]byte(slackToken)) }
	impatient := slack.Clock{Now: time.Now, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }}
	return counting{slack.NewBot(token, d.slack.APIURL(), slack.Options{Clock: impatient}), of, d}
}

// counting is a sender that counts what was told by it.
type counting struct {
	notify.Sender
	by   string
	told *deliveries
}

// counted is the body of a message, with what the message is about.
type counted struct {
	body  any
	items []notify.Item
}

func (s counting) Plan(d notify.Digest) []notify.Message {
	plan := s.Sender.Plan(d)
	for i := range plan {
		plan[i].Body = counted{plan[i].Body, d.Items}
	}
	return plan
}

func (s counting) Send(ctx context.Context, to notify.Recipient, m notify.Message, beneath audit.MessageRef) (audit.MessageRef, error) {
	c := m.Body.(counted)
	m.Body = c.body
	at, err := s.Sender.Send(ctx, to, m, beneath)
	if err == nil {
		s.told.tell(s.by, to, m, c.items)
	}
	return at, err
}

// tell counts a message that Slack took.
func (d *deliveries) tell(by string, to notify.Recipient, m notify.Message, items []notify.Item) {
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
			told := telling{news{to.Address, string(c.Event), it.Record.Subject.Name}, c.ID, it.Record.Reopened, ""}
			switch c.Event {
			case audit.EventOpened, audit.EventReopened:
				told.what = isNew
			case audit.EventChanged:
				told.of = strings.Join(it.Record.Owners, " ")
			}
			d.told[told]++
			break
		}
	}
}
