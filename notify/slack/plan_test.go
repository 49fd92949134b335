package slack_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
)

var update = flag.Bool("update", false, "write the golden files and the page of messages")

// planned is a message of a plan as its golden file holds it.
type planned struct {
	beneath, update  string
	opens, broadcast bool
	minor            bool
	covers           []string
	text             string
	blocks           []slack.Block
}

// write writes what is sent line by line, with a line for each block.
func (p planned) write(t *testing.T, b *bytes.Buffer) {
	t.Helper()
	for _, line := range []struct {
		what string
		said any
	}{{"beneath", p.beneath}, {"update of", p.update}, {"opens", p.opens}, {"broadcast", p.broadcast}, {"minor", p.minor}} {
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
		p := planned{opens: m.StartsThread, minor: m.Optional, broadcast: broadcast, text: text, blocks: blocks, update: update.Message}
		switch {
		case m.Parent != notify.NoParent:
			p.beneath = fmt.Sprintf("message %d of the plan", m.Parent)
		case m.Thread != (audit.MessageRef{}):
			p.beneath = m.Thread.Message
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

// Every item is covered by one message, and what is to be told next is covered by
// a later one beneath it.
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
					t.Errorf("%s: %s is covered and was not due then", s.name, key)
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

// What was told in another channel is no message to reply to.
func TestAnotherChannel(t *testing.T) {
	d := digest(0, items(audit.EventResolved, audit.MessageRef{Channel: "C0999", Message: "1.000001"}, resolved(host("a.example.com", "team-a"), audit.ReasonResolved)))
	plan := planOf(sample{digest: d})
	if len(plan) != 1 || plan[0].Thread != (audit.MessageRef{}) || plan[0].Optional {
		t.Errorf("the plan is %+v", plan)
	}
}

// What people read before it is sent names every finding that has room.
func TestText(t *testing.T) {
	for _, s := range samples() {
		for n, m := range planOf(s) {
			if m.Text == "" || strings.ContainsAny(m.Text, "\x1b\u202e\u200b\r") {
				t.Errorf("%s: message %d reads %q", s.name, n, m.Text)
			}
		}
	}
}
