package slack_test

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	sender "github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// maxReplies is how many replies to a message docs/messages.md shows.
const maxReplies = 1

// TestMessagesPage compares docs/messages.md with what is sent. It contains the payload of each
// sample as HTML, which looks similar to Slack.
func TestMessagesPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Messages in Slack

These are the messages that owners receive in Slack. A test generates this page from the payloads. Replies in a thread
are indented, and an updated message appears under "is updated to".

`)
	for _, s := range samples() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", s.name, s.says)
		replies := 0
		for _, m := range describe(planOf(s)) {
			switch {
			case m.update != "":
				fmt.Fprintf(&b, "The message that announced it is updated to:\n\n%s\n\n", boxed(m, 1))
			case m.parent == "":
				fmt.Fprintf(&b, "%s\n\n", boxed(m, 1))
			case replies < maxReplies:
				fmt.Fprintf(&b, "%s\n\n", boxed(m, 2))
				replies++
			default:
				replies++
			}
		}
		if replies > maxReplies {
			fmt.Fprintf(&b, "… and %d more replies.\n\n", replies-maxReplies)
		}
	}
	golden(t, "../../docs/messages.md", []byte(strings.TrimRight(b.String(), "\n")+"\n"))
}

// boxed returns a message as HTML without empty lines, which Markdown leaves as it is.
func boxed(m planned, depth int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat("<blockquote>", depth))
	if m.broadcast {
		b.WriteString("<sub>reply, also sent to the channel</sub>\n")
	}
	for _, block := range m.blocks {
		b.WriteString(blockHTML(block) + "\n")
	}
	return b.String() + strings.Repeat("</blockquote>", depth)
}

func blockHTML(block slack.Block) string {
	switch block := block.(type) {
	case *slack.HeaderBlock:
		return "<h4>" + html.EscapeString(block.Text.Text) + "</h4>"
	case *slack.SectionBlock:
		// Markup is escaped like HTML, except for mentions from the config.
		return "<p>" + strings.ReplaceAll(block.Text.Text, mention, "<b>@team-a</b>") + "</p>"
	case *slack.ContextBlock:
		return "<p><sub>" + html.EscapeString(block.ContextElements.Elements[0].(*slack.TextBlockObject).Text) + "</sub></p>"
	case *slack.DividerBlock:
		return "<hr>"
	case *slack.RichTextBlock:
		var b strings.Builder
		for _, e := range block.Elements {
			b.WriteString(richHTML(e))
		}
		return b.String()
	}
	return fmt.Sprintf("%T", block)
}

func richHTML(e slack.RichTextElement) string {
	switch e := e.(type) {
	case *slack.RichTextSection:
		return "<p>" + lineHTML(e.Elements) + "</p>"
	case *slack.RichTextPreformatted:
		return "<p><code>" + lineHTML(e.Elements) + "</code></p>"
	case *slack.RichTextList:
		var b strings.Builder
		for _, item := range e.Elements {
			b.WriteString("\n<li>" + lineHTML(item.(*slack.RichTextSection).Elements) + "</li>")
		}
		return "<ul>" + b.String() + "</ul>"
	}
	return fmt.Sprintf("%T", e)
}

func lineHTML(elements []slack.RichTextSectionElement) string {
	var b strings.Builder
	for _, e := range elements {
		switch e := e.(type) {
		case *slack.RichTextSectionEmojiElement:
			b.WriteString(sender.Symbol(e.Name))
		case *slack.RichTextSectionTextElement:
			s := strings.ReplaceAll(html.EscapeString(e.Text), "\n", "<br>\n")
			if e.Style != nil && e.Style.Code {
				s = "<code>" + s + "</code>"
			}
			if e.Style != nil && e.Style.Bold {
				s = "<b>" + s + "</b>"
			}
			if e.Style != nil && e.Style.Strike {
				s = "<del>" + s + "</del>"
			}
			b.WriteString(s)
		case *slack.RichTextSectionChannelElement:
			b.WriteString("<b>#" + strings.ToLower(e.ChannelID) + "</b>")
		case *slack.RichTextSectionLinkElement:
			b.WriteString(`<a href="` + html.EscapeString(e.URL) + `">` + html.EscapeString(e.Text) + "</a>")
		default:
			fmt.Fprintf(&b, "%T", e)
		}
	}
	return b.String()
}

const (
	channel = "C0123456789"
	mention = "<!subteam^S0123>"
)

var (
	now    = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	parent = audit.MessageRef{Channel: channel, Message: "1764417600.000001"}
)

// host is a finding about a host that two teams claim.
func host(name string, owners ...string) audit.Record {
	s := rules.Subject{Kind: rules.SubjectHost, Name: name}
	return audit.Record{
		Finding: audit.Finding{
			ID: rules.ID("one-owner-per-host", s), Rule: "one-owner-per-host", Severity: rules.High, Subject: s, Owners: owners, Verdict: "contested",
			Message: "Two Ingresses of different owners claim the host " + name + ": requests go to the one that the controller read first.",
			Cause:   "Ingress retail/shop-eu was created 3 seconds after Ingress shop/web, too soon for admission control to see both.",
			Remedy:  "Remove the host from one of the two Ingresses.",
			State:   audit.StateOpen,
			Objects: []rules.Object{
				{Ref: snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "shop", Name: "web"}, Owner: "team-a", Created: now.Add(-50 * time.Hour)},
				{Ref: snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "retail", Name: "shop-eu"}, Owner: "team-b", Created: now.Add(-3 * time.Hour), Detail: "through its server-alias"},
			},
		},
		OpenedAt: now.Add(-3 * time.Hour),
	}
}

// namespace is a finding about a namespace without a policy.
func namespace(name, direction string, owners ...string) audit.Record {
	s := rules.Subject{Kind: rules.SubjectNamespace, Name: name, Detail: direction}
	return audit.Record{
		Finding: audit.Finding{
			ID: rules.ID("default-deny-present", s), Rule: "default-deny-present", Severity: rules.Medium, Subject: s, Owners: owners, Verdict: "missing",
			Message: "No policy denies " + strings.ToLower(direction) + " in namespace " + name + ". Both workloads are open.",
			Cause:   "NetworkPolicy payments/allow-dns selects only some of the pods.",
			Remedy:  "Add a NetworkPolicy with an empty podSelector and policyTypes [" + direction + "].",
			State:   audit.StateOpen,
			Objects: []rules.Object{
				{Ref: snapshot.Ref{Group: "apps", Kind: "Deployment", Namespace: name, Name: "web"}, Owner: "team-a", Created: now.Add(-300 * time.Hour), Detail: "no policy selects it"},
			},
			MoreObjects: 7,
		},
		OpenedAt: now.Add(-26 * time.Hour),
	}
}

// resolved returns a finding that was resolved an hour ago.
func resolved(r audit.Record, why audit.Reason) audit.Record {
	r.State, r.Reason, r.ResolvedAt = audit.StateResolved, why, now.Add(-time.Hour)
	return r
}

// at returns a record that the message parent announced to team-a.
func at(r audit.Record) audit.Record {
	r.SetNotification(audit.Notification{Sender: "slack", Owner: "team-a", Last: audit.EventOpened, Message: parent})
	return r
}

// many returns findings about namespaces.
func many(n int) []audit.Record {
	out := make([]audit.Record, n)
	for i := range out {
		out[i] = namespace(fmt.Sprintf("shop-%03d", i), "Ingress", "team-a")
	}
	return out
}

// items returns records with one event.
func items(event audit.Event, place audit.MessageRef, records ...audit.Record) []notify.Item {
	var out []notify.Item
	for _, r := range records {
		last := audit.EventOpened
		if event == audit.EventOpened {
			last = ""
		}
		out = append(out, notify.Item{Record: r, Owners: []string{"team-a"}, Event: event, Last: last, Message: place})
	}
	return out
}

// digest returns a digest for team-a. Each message in it announced the items that refer to
// it.
func digest(open int, lists ...[]notify.Item) notify.Digest {
	d := notify.Digest{
		Cluster: "prod-eu-1", Namespace: "audit", To: notify.Recipient{Owner: "team-a", Address: channel, Mention: mention},
		Open: open, Now: now, Earlier: map[audit.MessageRef][]notify.Item{},
	}
	for _, list := range lists {
		d.Items = append(d.Items, list...)
		for _, i := range list {
			if i.Message != (audit.MessageRef{}) {
				d.Earlier[i.Message] = append(d.Earlier[i.Message], notify.Item{Record: i.Record, Message: i.Message})
			}
		}
	}
	return d
}

// sample is a digest with a name and a description of what it shows.
type sample struct {
	name, says string
	digest     notify.Digest
	webhook    bool
}

func samples() []sample {
	nowhere := audit.MessageRef{}
	storm := many(300)
	back := namespace("billing", "Ingress", "team-a")
	back.Reopened = 1
	given := at(host("eu.example.com", "team-b"))
	stays := at(host("shop.example.com", "team-a", "team-b"))
	for i := range storm {
		storm[i].Storm = true
	}
	fallback := digest(1, items(audit.EventOpened, nowhere, host("shop.example.com", "team-x")))
	fallback.To.Owner, fallback.FallbackReason = "platform", "team-x: post to channel C0999999999: not_in_channel: invite the app to the channel"
	fallback.Items[0].Owners = []string{"team-x"}
	changed := digest(2,
		items(audit.EventChanged, parent, stays),
		items(audit.EventReleased, parent, given),
		items(audit.EventResolved, parent, resolved(at(namespace("payments", "Egress", "team-a")), audit.ReasonResolved), resolved(at(namespace("legacy", "Ingress", "team-a")), audit.ReasonExcepted)))
	changed.Earlier[parent] = append(changed.Earlier[parent], items("", parent, at(namespace("search", "Egress", "team-a")))...)
	opened := digest(12, items(audit.EventOpened, nowhere, host("shop.example.com", "team-a", "team-b"), namespace("payments", "Egress", "team-a")))
	return []sample{
		{"guided", "Like findings are one line, and so are both directions of a namespace. With links in the config, messages link to your own pages; the thread has what would end a finding.", guided(), false},
		{"opened", "New findings. The details of each are in the thread.", opened, false},
		{"reopened", "A resolved finding was reopened.", digest(3, items(audit.EventReopened, nowhere, back)), false},
		{"opened-many", "More new findings than fit in one message: the thread has all of them.", digest(28, items(audit.EventOpened, nowhere, many(28)...)), false},
		{"storm", "A storm: too many new findings to list one by one.", digest(300, items(audit.EventOpened, nowhere, storm...)), false},
		{"changed", "Findings that changed, were resolved, got an exception or have a new owner: a reply, and an update of the announcement.", changed, false},
		{"resolved", "All findings of a message were resolved.", digest(0, items(audit.EventResolved, parent, resolved(at(host("shop.example.com", "team-a")), audit.ReasonResolved))), false},
		{"overtaken", "A finding was resolved before its owner could be notified.", overtaken(), false},
		{"reminder", "A reminder of open findings: a reply, which is also shown in the channel because one has severity high.", digest(2, items(audit.EventReminder, parent, at(host("shop.example.com", "team-a", "team-b")), at(namespace("payments", "Egress", "team-a")))), false},
		{"reminder-medium", "A reminder without a finding of severity high: no one is mentioned, and it stays in the thread.", digest(1, items(audit.EventReminder, parent, at(namespace("payments", "Egress", "team-a")))), false},
		{"fallback", "The owner cannot be reached: the fallback owner is notified.", fallback, false},
		{"hostile", "Names and messages from an attacker: they cannot mention anyone, add a link, hide text or break the layout.", hostile(), false},
		{"webhook-opened", "With an incoming webhook there are no threads: the message has the details.", opened, true},
		{"webhook-changed", "With an incoming webhook no message can be updated.", changed, true},
	}
}

// The links of the guided sample, as Slack's markup spells them.
const (
	otherChannel = "C0777777777"
	findingLink  = "https://dash.example.com/f/"
	ruleLink     = "https://docs.example.com/rules/"
)

func guided() notify.Digest {
	records := []audit.Record{
		host("shop.example.com", "team-a", "team-b"), namespace("campaigns", "Ingress", "team-a"), namespace("campaigns", "Egress", "team-a"),
	}
	for n := range 12 {
		records = append(records, namespace(fmt.Sprintf("promo-%02d", n), "Egress", "team-a"))
	}
	d := digest(len(records), items(audit.EventOpened, audit.MessageRef{}, records...))
	d.Guide = notify.Guide{
		Channel: func(owner string) string { return map[string]string{"team-b": otherChannel}[owner] },
		Finding: func(r *audit.Record) string { return findingLink + r.ID },
		Rule:    func(r *audit.Record) string { return ruleLink + r.Rule },
		Fix: func(id string) string {
			if id != records[1].ID && id != records[2].ID {
				return ""
			}
			return "# Denies ingress and egress in namespace campaigns by default.\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
		},
	}
	return d
}

// allowed are the control sequences that a digest may have: those of the config.
func allowed(d notify.Digest) []string {
	out := []string{mention, "<#" + otherChannel + ">"}
	for _, i := range d.Items {
		finding, rule := d.Guide.Links(&i.Record)
		out = append(out, "<"+finding+"|Finding>", "<"+rule+"|About the rule>")
	}
	return out
}

func overtaken() notify.Digest {
	d := digest(0, items(audit.EventResolved, audit.MessageRef{}, resolved(host("shop.example.com", "team-a"), audit.ReasonResolved)))
	d.Items[0].Last = ""
	return d
}

// attacks returns names and sentences that an attacker might choose.
func attacks() []string {
	return []string{
		"<!channel>", "<!subteam^S0123>", "<@U0123>", "<https://evil.example|shop.example.com>", "https://evil.example/",
		"*bold* _italic_ ~struck~ `code` ```", "> quote", "a\nb\r\n• c", "&lt;!here&gt;", "a\u202egnp.exe", "zero\u200bwidth",
		"\x1b[31m", "e" + strings.Repeat("\u0301", 40), ":fire: @here #general", strings.Repeat("x", 253), strings.Repeat("<&>", 300), "\xff\xfe", "",
	}
}

func hostile() notify.Digest {
	var opened []audit.Record
	for _, s := range attacks() {
		r := host(s, s, "team-a")
		r.Cause, r.Remedy, r.ID = s, s, rules.ID(r.Rule, r.Subject)
		r.Objects[1].Name, r.Objects[1].Owner, r.Objects[1].Detail = s, s, s
		opened = append(opened, r)
	}
	d := digest(len(opened), items(audit.EventOpened, audit.MessageRef{}, opened...))
	d.Cluster, d.To.Owner, d.FallbackReason = "<!everyone>`*", "<!here>`", "<@U0123>: \u202e<https://evil.example>"
	return d
}

// Whoever causes many findings can't push those that others have caused out of a list.
func TestDecoysPushNothingOutOfAList(t *testing.T) {
	var records []audit.Record
	for i := range 60 {
		r := namespace(fmt.Sprintf("decoy-%03d", i), "Ingress", "team-a", fmt.Sprintf("team-%03d", i))
		r.Culprit = "attacker"
		records = append(records, r)
	}
	theft := namespace("zz-theft", "Ingress", "team-a", "team-z")
	theft.Culprit, theft.Severity = "thief", rules.Low
	records = append(records, theft)
	storm := slices.Clone(records)
	for i := range storm {
		storm[i].Storm = true
	}
	for name, d := range map[string]notify.Digest{
		"an announcement": digest(61, items(audit.EventOpened, audit.MessageRef{}, records...)),
		"a storm":         digest(61, items(audit.EventOpened, audit.MessageRef{}, storm...)),
		"a reminder":      digest(61, items(audit.EventReminder, audit.MessageRef{}, records...)),
	} {
		for _, by := range []notify.Sender{new(sender.Bot), new(sender.Webhook)} {
			if first := by.Plan(d)[0]; !strings.Contains(first.Text, "zz-theft") || !strings.Contains(first.Text, "more: ") {
				t.Errorf("%s by %s does not name the theft, or is not cut:\n%s", name, by.Name(), first.Text)
			}
		}
	}
}
