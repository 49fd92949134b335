package slack_test

import (
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// A finding is opened, reminded of and resolved: one message with all replies in its
// thread, which is checked off at the end.
func TestLifeOfAFinding(t *testing.T) {
	clock := newTicker()
	slackd := workspace(t, clock)
	by := newBot(slackd, clock)
	record := host("shop.example.com", "team-a")

	d := digest(1, items(audit.EventOpened, audit.MessageRef{}, record))
	deliver(t, by, d.To, by.Plan(d))
	top := slackd.In(channel)
	if len(top) != 1 || len(slackd.Replies(channel, top[0].TS)) != 1 {
		t.Fatalf("the announcement is %+v", slackd.Messages())
	}
	at := audit.MessageRef{Channel: channel, Message: top[0].TS}
	record.SetNotification(audit.Notification{Sender: "slack", Owner: "team-a", Last: audit.EventOpened, Message: at})

	d = digest(1, items(audit.EventReminder, at, record))
	deliver(t, by, d.To, by.Plan(d))
	replies := slackd.Replies(channel, at.Message)
	if len(replies) != 2 || !replies[1].Broadcast {
		t.Fatalf("the reminder is %+v", replies)
	}

	d = digest(0, items(audit.EventResolved, at, resolved(record, audit.ReasonResolved)))
	deliver(t, by, d.To, by.Plan(d))
	top, replies = slackd.In(channel), slackd.Replies(channel, at.Message)
	if len(top) != 1 || len(top[0].Earlier) != 1 || len(replies) != 3 || replies[2].Broadcast {
		t.Fatalf("the messages at the end are %+v", slackd.Messages())
	}
	if blocks := string(top[0].Blocks); !strings.Contains(blocks, `"white_check_mark"`) || !strings.Contains(blocks, `"strike":true`) {
		t.Errorf("the message was not checked off: %s", blocks)
	}
	if strings.Contains(string(top[0].Blocks), mention) || !strings.Contains(string(top[0].Earlier[0].Blocks), "S0123") {
		t.Error("the mention is missing in the first version, or repeated in the update")
	}
}

// If a message is gone, its replies become messages of their own, which name the owner.
func TestMessageThatIsGone(t *testing.T) {
	for _, test := range []struct {
		name  string
		spoil func(*fakeslack.Server, string)
	}{
		{"deleted", func(s *fakeslack.Server, ts string) { s.Delete(channel, ts) }},
		{"locked", func(s *fakeslack.Server, ts string) {
			s.Faults(func(r fakeslack.Request) fakeslack.Fault {
				if r.Thread == ts {
					return fakeslack.Fault{Error: "restricted_action_thread_locked"}
				}
				if r.TS == ts {
					return fakeslack.Fault{Error: "edit_window_closed"}
				}
				return fakeslack.Fault{}
			})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			clock := newTicker()
			slackd := workspace(t, clock)
			by := newBot(slackd, clock)
			d := inThread(t, by, slackd, digest(1, items(audit.EventReminder, parent, at(host("shop.example.com", "team-a")))))
			test.spoil(slackd, d.Items[0].Message.Message)
			deliver(t, by, d.To, by.Plan(d))
			if top := slackd.In(channel); len(top) != 2 || top[1].Broadcast || !strings.Contains(string(top[1].Blocks), "shop.example.com") {
				t.Errorf("the channel has %+v", top)
			}
		})
	}
}

// Slack limits updates across all channels: an update waits, messages do not.
func TestUpdatesThatAreTooMany(t *testing.T) {
	clock := newTicker()
	slackd := fakeslack.Start(t, fakeslack.Config{
		Token: token, Channels: map[string]fakeslack.Membership{channel: ""}, Allowed: []string{mention}, Now: clock.Now, UpdatesPerMinute: 1,
	})
	by := newBot(slackd, clock)
	for range 3 {
		d := inThread(t, by, slackd, digest(0, items(audit.EventResolved, parent, resolved(at(host("shop.example.com", "team-a")), audit.ReasonResolved))))
		deliver(t, by, d.To, by.Plan(d))
	}
	updates := 0
	for _, m := range slackd.Messages() {
		updates += len(m.Earlier)
	}
	if updates != 3 || clock.Now().Sub(now).Minutes() < 2 {
		t.Errorf("%d updates in %v", updates, clock.Now().Sub(now))
	}
}
