package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules/catalog"
)

const registry = `
owners:
  fallback: platform
  teams:
    - {name: platform, slack: {channel: C00, mention: "<!here>"}}
    - {name: shop, namespaces: [shop], slack: {channel: C01, mention: "<@U01>"}, quietHours: {from: "07:00", to: "09:00"}}
    - {name: hooked, slack: {webhookFile: hooks/it}}
    - {name: silent, slack: {channel: C02}, reportOnly: true}
    - {name: placeless}
rules:
  owner-known: {reportOnly: true}
slack: {tokenFile: token, channelFrom: {namespaceAnnotation: example.com/channel, allow: ["team-*"]}}
`

func TestRoutes(t *testing.T) {
	ownership := []audit.NamespaceOwner{
		{Namespace: "a", Owner: "tenant", Channel: "team-a", Allowed: true},
		{Namespace: "b", Owner: "tenant", Channel: "team-b", Allowed: true},
		{Namespace: "c", Owner: "thief", Channel: "general"},
		{Namespace: "d", Owner: "shop", Channel: "team-thief", Allowed: true},
	}
	fallback := notify.Route{Sender: "slack", To: notify.Recipient{Owner: "platform", Address: "C00", Mention: "<!here>"}}
	to := func(r notify.Route) notify.Route {
		r.Fallback = &fallback
		return r
	}
	webhook := func(owner string) notify.Route {
		return notify.Route{Sender: "webhook", To: notify.Recipient{Owner: owner}}
	}
	for _, c := range []struct {
		name, rule, owner string
		senders           string
		includeReportOnly bool
		change            [2]string
		want              []notify.Route
	}{
		{name: "a team is notified in its channel, and has quiet hours", owner: "shop", want: []notify.Route{to(notify.Route{Sender: "slack", To: notify.Recipient{Owner: "shop", Address: "C01", Mention: "<@U01>"}, Quiet: true})}},
		{name: "a team with an incoming webhook is notified there", owner: "hooked", want: []notify.Route{to(notify.Route{Sender: "slack-webhook", To: notify.Recipient{Owner: "hooked", Address: "hooks/it"}})}},
		{name: "a report-only team is not notified", owner: "silent"},
		{name: "unless report-only is included", owner: "silent", includeReportOnly: true, want: []notify.Route{to(notify.Route{Sender: "slack", To: notify.Recipient{Owner: "silent", Address: "C02"}})}},
		{name: "a report-only rule notifies no one", rule: "owner-known", owner: "shop"},
		{name: "a team without a channel uses the fallback", owner: "placeless", want: []notify.Route{fallback}},
		{name: "an unknown owner uses the fallback", owner: "stranger", want: []notify.Route{fallback}},
		{name: "the fallback has no fallback", owner: "platform", want: []notify.Route{fallback}},
		{name: "an owner without a channel uses the one of its first Namespace", owner: "tenant", want: []notify.Route{to(notify.Route{Sender: "slack", To: notify.Recipient{Owner: "tenant", Address: "team-a"}})}},
		{name: "a channel that is not allowed is ignored", owner: "thief", want: []notify.Route{fallback}},
		{name: "without a token Slack is not used", owner: "shop", senders: "webhook", want: []notify.Route{{Sender: "webhook", To: notify.Recipient{Owner: "shop"}, Quiet: true}}},
		{name: "the webhook is notified of all owners", owner: "stranger", senders: "slack webhook", want: []notify.Route{fallback, webhook("stranger")}},
		{name: "a report-only fallback is ignored", owner: "stranger", change: [2]string{"name: platform,", "name: platform, reportOnly: true,"}},
		{name: "without a fallback an unknown owner is not notified", owner: "stranger", change: [2]string{"fallback: platform", "keys: [owner]"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := config.Parse([]byte(strings.Replace(registry, c.change[0], c.change[1], 1)), "test", catalog.All())
			if err != nil {
				t.Fatal(err)
			}
			if c.senders == "" {
				c.senders = "slack slack-webhook"
			}
			r := notify.Router{
				Config: &cfg, Ownership: ownership, Now: start, IncludeReportOnly: c.includeReportOnly,
				HasSender: func(name string) bool { return strings.Contains(" "+c.senders+" ", " "+name+" ") },
			}
			rule := c.rule
			if rule == "" {
				rule = "one-owner-per-host"
			}
			if diff := cmp.Diff(c.want, r.Routes()(rule, c.owner)); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
		})
	}
	if start.Hour() != 8 || start.Location() != time.UTC {
		t.Fatal("the table assumes 08:00 UTC")
	}
}
