package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
	"github.com/eventuallytrue/audit/rules"
)

var update = flag.Bool("update", false, "write the golden files and docs/messages.md")

// planned is a message of a plan as in its golden file.
type planned struct {
	parent, update    string
	starts, broadcast bool
	optional          bool
	covers            []string
	text              string
	blocks            []slack.Block
}

// write writes a message line by line, with a line for each block.
func (p planned) write(t *testing.T, b *bytes.Buffer) {
	t.Helper()
	for _, line := range []struct {
		what string
		said any
	}{{"reply to", p.parent}, {"update of", p.update}, {"starts thread", p.starts}, {"broadcast", p.broadcast}, {"optional", p.optional}} {
		if line.said != "" && line.said != false {
			fmt.Fprintf(b, "%s %v\n", line.what, line.said)
		}
	}
	for _, c := range p.covers {
		fmt.Fprintf(b, "covers %s\n", c)
	}
	fmt.Fprintf(b, "text %s\n", p.text)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	for _, block := range p.blocks {
		if err := e.Encode(block); err != nil {
			t.Fatal(err)
		}
	}
}

func planOf(s sample) []notify.Message {
	if s.webhook {
		return (&sender.Webhook{}).Plan(s.digest)
	}
	return (&sender.Bot{}).Plan(s.digest)
}

func describe(plan []notify.Message) []planned {
	var out []planned
	for _, m := range plan {
		update, broadcast, text, blocks := sender.Parts(m)
		p := planned{starts: m.StartsThread, optional: m.Optional, broadcast: broadcast, text: text, blocks: blocks, update: update.Message}
		switch {
		case m.Parent != notify.NoParent:
			p.parent = fmt.Sprintf("message %d of the plan", m.Parent)
		case m.Thread != (audit.MessageRef{}):
			p.parent = m.Thread.Message
		}
		for _, c := range m.Covers {
			covered := c.ID + " " + string(c.Event)
			if c.Next != "" {
				covered += ", then " + string(c.Next)
			}
			p.covers = append(p.covers, covered)
		}
		out = append(out, p)
	}
	return out
}

func TestGoldenPlans(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			var got bytes.Buffer
			for n, p := range describe(planOf(s)) {
				fmt.Fprintf(&got, "-- message %d --\n", n)
				p.write(t, &got)
			}
			golden(t, filepath.Join("testdata", s.name+".txt"), got.Bytes())
		})
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-update writes it):\n%s", path, diff)
	}
}

// Every item is covered by one message, and the event that is pending next by a later reply
// to it.
func TestEveryItemIsCoveredOnce(t *testing.T) {
	for _, s := range append(samples(), large()...) {
		due := map[string]int{}
		for _, i := range s.digest.Items {
			due[i.Record.ID+" "+string(i.Event)]++
		}
		for _, m := range planOf(s) {
			for _, c := range m.Covers {
				key := c.ID + " " + string(c.Event)
				if due[key] == 0 {
					t.Errorf("%s: %s is covered, but was not pending", s.name, key)
				}
				if due[key]--; c.Next != "" {
					due[c.ID+" "+string(c.Next)]++
				}
			}
		}
		for key, n := range due {
			if n != 0 {
				t.Errorf("%s: %s is covered %d times too few", s.name, key, n)
			}
		}
	}
}

func TestNothingToTell(t *testing.T) {
	for _, s := range []sample{{digest: digest(7)}, {digest: digest(7), webhook: true}} {
		if plan := planOf(s); len(plan) != 0 {
			t.Errorf("a digest without items makes %v", plan)
		}
	}
}

// A message in another channel is not replied to.
func TestAnotherChannel(t *testing.T) {
	d := digest(0, items(audit.EventResolved, audit.MessageRef{Channel: "C0999", Message: "1.000001"}, resolved(host("a.example.com", "team-a"), audit.ReasonResolved)))
	plan := planOf(sample{digest: d})
	if len(plan) != 1 || plan[0].Thread != (audit.MessageRef{}) || plan[0].Optional {
		t.Errorf("the plan is %+v", plan)
	}
}

// The text for a preview names every finding that fits.
func TestText(t *testing.T) {
	for _, s := range samples() {
		for n, m := range planOf(s) {
			if m.Text == "" || strings.ContainsAny(m.Text, "\x1b\u202e\u200b\r") {
				t.Errorf("%s: message %d reads %q", s.name, n, m.Text)
			}
		}
	}
}

// large returns digests that do not fit one message, with findings of the maximum length.
func large() []sample {
	longest := func(i int) audit.Record {
		r := host(fmt.Sprintf("%d%s", i, strings.Repeat("\u202e", 253)), "team-a")
		r.Message, r.Cause, r.Remedy = strings.Repeat("m", 3000), strings.Repeat("c", 3000), strings.Repeat("r", 3000)
		r.Owners = []string{"team-a", strings.Repeat("o", 3000)}
		for range 20 {
			o := r.Objects[0]
			o.Name, o.Namespace, o.Owner, o.Detail = strings.Repeat("n", 253), strings.Repeat("s", 253), strings.Repeat("o", 300), strings.Repeat("d", 3000)
			r.Objects = append(r.Objects, o)
		}
		r.ID = rules.ID(r.Rule, r.Subject)
		return r
	}
	var records, over []audit.Record
	for i := range 60 {
		records = append(records, longest(i))
		over = append(over, resolved(at(longest(i)), audit.ReasonResolved))
	}
	var out []sample
	for _, webhook := range []bool{false, true} {
		for _, event := range []audit.Event{audit.EventOpened, audit.EventReopened, audit.EventDetails, audit.EventChanged, audit.EventReleased, audit.EventReminder} {
			out = append(out,
				sample{name: "large " + string(event), digest: digest(60, items(event, audit.MessageRef{}, records...)), webhook: webhook},
				sample{name: "large in a thread " + string(event), digest: digest(60, items(event, parent, records...)), webhook: webhook})
		}
		d := digest(60, items(audit.EventResolved, parent, over...))
		d.To.Owner, d.Cluster, d.FallbackReason = strings.Repeat("o", 3000), strings.Repeat("c", 3000), strings.Repeat("i", 3000)
		out = append(out, sample{name: "large resolved", digest: d, webhook: webhook})
		d.Items = items(audit.EventChanged, audit.MessageRef{}, records...)
		out = append(out, sample{name: "large changed instead", digest: d, webhook: webhook})
		d.Items = items(audit.EventOpened, audit.MessageRef{}, records...)
		out = append(out, sample{name: "large opened instead", digest: d, webhook: webhook})
	}
	return out
}

// random returns a random digest for a seed.
func random(seed uint64) sample {
	r := rand.New(rand.NewPCG(seed, 1))
	var lists []audit.Record
	for i := range r.IntN(40) + 1 {
		rec := host(fmt.Sprint(i, attacks()[r.IntN(len(attacks()))]), "team-a")
		rec.Severity = rules.Severity(r.IntN(3) + 1)
		rec.Storm, rec.Reopened = r.IntN(8) == 0, r.IntN(3)
		if r.IntN(3) == 0 {
			rec.Owners = []string{"team-b"}
		}
		if r.IntN(2) == 0 {
			rec = at(rec)
		}
		lists = append(lists, rec)
	}
	d := digest(r.IntN(50))
	events := []audit.Event{audit.EventOpened, audit.EventReopened, audit.EventChanged, audit.EventDetails, audit.EventResolved, audit.EventReleased, audit.EventReminder}
	for _, rec := range lists {
		event, place := events[r.IntN(len(events))], audit.MessageRef{}
		if event == audit.EventResolved {
			rec = resolved(rec, []audit.Reason{audit.ReasonResolved, audit.ReasonRuleRetired, audit.ReasonExcepted}[r.IntN(3)])
		}
		if len(rec.Notifications) > 0 {
			place = parent
		}
		d2 := digest(0, items(event, place, rec))
		d.Items = append(d.Items, d2.Items...)
		d.Earlier[parent] = append(d.Earlier[parent], d2.Earlier[parent]...)
	}
	return sample{name: fmt.Sprint("seed ", seed), digest: d, webhook: r.IntN(3) == 0}
}

const (
	token   = "xoxb-123456-hunter2"
	hookURI = "/services/T0/B0/hunter2"
)

// ticker is a clock that advances only in sleep.
type ticker struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func newTicker() *ticker { return &ticker{now: now} }

func (c *ticker) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *ticker) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func (c *ticker) clock() sender.Clock { return sender.Clock{Now: c.Now, Sleep: c.sleep} }

// workspace starts a fake Slack with the clock.
func workspace(t *testing.T, clock *ticker) *fakeslack.Server {
	t.Helper()
	return fakeslack.Start(t, fakeslack.Config{
		Token:    token,
		Channels: map[string]fakeslack.Membership{channel: "", "C02": "", "C03": fakeslack.Outside, "C04": fakeslack.Archived},
		Webhooks: map[string]string{hookURI: channel, "/services/T0/B0/second": "C02"},
		Allowed:  allowed(guided()),
		Now:      clock.Now,
	})
}

func secret(s string) func() (notify.Secret, error) {
	return func() (notify.Secret, error) { return notify.NewSecret([]byte(s)) }
}

func newBot(s *fakeslack.Server, clock *ticker) *sender.Bot {
	return sender.NewBot(secret(token), s.APIURL(), sender.Options{Clock: clock.clock()})
}

// newWebhook returns a webhook sender; the address is the path.
func newWebhook(s *fakeslack.Server, clock *ticker) *sender.Webhook {
	return newWebhookWith(s, sender.Options{Clock: clock.clock()})
}

func newWebhookWith(s *fakeslack.Server, o sender.Options) *sender.Webhook {
	host := strings.TrimPrefix(s.URL(), "http://")
	return sender.NewWebhook(func(path string) (notify.Secret, error) { return notify.NewSecret([]byte(s.URL() + path)) },
		[]string{host}, o)
}

// deliver sends a plan as notify does, and fails the test if that fails.
func deliver(t *testing.T, by notify.Sender, to notify.Recipient, plan []notify.Message) {
	t.Helper()
	places := make([]audit.MessageRef, len(plan))
	for n, m := range plan {
		thread := m.Thread
		if m.Parent != notify.NoParent {
			thread = places[m.Parent]
		}
		var err error
		if places[n], err = by.Send(t.Context(), to, m, thread); err != nil && !m.Optional {
			t.Fatalf("message %d: %v", n, err)
		}
	}
}

// Whatever a digest contains, a strict Slack accepts all of its messages, and none is close
// to a limit.
func TestStrictSlackTakesEveryMessage(t *testing.T) {
	list := append(samples(), large()...)
	for seed := range uint64(60) {
		list = append(list, random(seed))
	}
	for _, s := range list {
		t.Run(s.name, func(t *testing.T) {
			clock := newTicker()
			slackd := workspace(t, clock)
			var by notify.Sender = newBot(slackd, clock)
			if s.webhook {
				by, s.digest.To.Address = newWebhook(slackd, clock), hookURI
			} else {
				s.digest = inThread(t, by, slackd, s.digest)
			}
			plan := by.Plan(s.digest)
			deliver(t, by, s.digest.To, plan)
			for _, r := range slackd.Refusals() {
				t.Errorf("refused: %s: %s", r.Error, r.Detail)
			}
			if size := slackd.Largest(); size.Characters > 9000 || size.Blocks > 40 {
				t.Errorf("the largest message has %d characters in %d blocks", size.Characters, size.Blocks)
			}
			sent := 0
			for _, m := range slackd.Messages() {
				sent += 1 + len(m.Earlier)
			}
			if updated := 1; !s.webhook && sent != len(plan)+updated {
				t.Errorf("%d messages and updates arrived of %d", sent, len(plan)+updated)
			}
		})
	}
}

// inThread posts a message, and makes it the one that a digest refers to.
func inThread(t *testing.T, by notify.Sender, slackd *fakeslack.Server, d notify.Digest) notify.Digest {
	t.Helper()
	first := by.Plan(digest(1, items(audit.EventOpened, audit.MessageRef{}, host("first.example.com", "team-a"))))[0]
	place, err := by.Send(t.Context(), d.To, first, audit.MessageRef{})
	if err != nil {
		t.Fatal(err)
	}
	if top := slackd.In(channel); top[len(top)-1].TS != place.Message || place.Channel != channel {
		t.Fatalf("the reference of the message is %v", place)
	}
	for n := range d.Items {
		if d.Items[n].Message == parent {
			d.Items[n].Message = place
		}
	}
	all := d.Earlier[parent]
	for n := range all {
		all[n].Message = place
		for m := range all[n].Record.Notifications {
			all[n].Record.Notifications[m].Message = place
		}
	}
	d.Earlier = map[audit.MessageRef][]notify.Item{place: all}
	return d
}

// said returns a digest in which all text from the cluster and from receivers is a given
// text, with a finding for each event.
func said(text string) notify.Digest {
	var all []notify.Item
	for _, event := range []audit.Event{audit.EventOpened, audit.EventChanged, audit.EventResolved, audit.EventReminder} {
		r := host(text+string(event), text, "team-a")
		r.Cause, r.Remedy, r.Message, r.Verdict = text, text, text, text
		r.Subject.Kind, r.Subject.Namespace, r.Subject.Detail = text, text, text
		for i := range r.Objects {
			o := &r.Objects[i]
			o.Group, o.Kind, o.Namespace, o.Name, o.Owner, o.Reason, o.Detail = text, text, text, text, text, text, text
		}
		r.ID = rules.ID(r.Rule, r.Subject)
		all = append(all, items(event, audit.MessageRef{}, r)...)
	}
	d := digest(len(all), all)
	d.Cluster, d.To.Owner, d.FallbackReason = text, text, text
	return d
}

// FuzzMessages checks that a Slack stricter than the real one accepts every message, whatever
// the names and sentences in it: no message contains a foreign mention, link or markup, and
// none exceeds a limit.
func FuzzMessages(f *testing.F) {
	for _, s := range attacks() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clock := newTicker()
		slackd := workspace(t, clock)
		bot, hook, d := newBot(slackd, clock), newWebhook(slackd, clock), said(text)
		deliver(t, bot, d.To, bot.Plan(d))
		d.To.Address = hookURI
		deliver(t, hook, d.To, hook.Plan(d))
		for _, r := range slackd.Refusals() {
			t.Errorf("refused: %s: %s", r.Error, r.Detail)
		}
	})
}
