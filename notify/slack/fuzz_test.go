package slack_test

import (
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

// said is a digest that says a text wherever one from the cluster or from a
// receiver may stand, with a finding for each event that owners are told of.
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

// FuzzMessages holds that whatever names and sentences are, a Slack that is
// stricter than the real one takes every message that is made of them: none holds
// a mention, a link or markup that is not ours, and none is over a limit.
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
