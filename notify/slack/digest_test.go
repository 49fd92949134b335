package slack_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const (
	channel = "C0123456789"
	mention = "<!subteam^S0123>"
)

var (
	now    = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	parent = audit.MessageRef{Channel: channel, Message: "1764417600.000001"}
)

// host is a finding on a host that two teams claim.
func host(name string, owners ...string) audit.Record {
	s := rules.Subject{Kind: rules.SubjectHost, Name: name}
	return audit.Record{
		Finding: audit.Finding{
			ID: rules.ID("one-owner-per-host", s), Rule: "one-owner-per-host", Severity: rules.High, Subject: s, Owners: owners,
			Message: "Two Ingresses of different owners claim the host " + name + ": requests go to whichever the controller read first.",
			Cause:   "Ingress retail/shop-eu was created 3 seconds after Ingress shop/web, within what two admissions see of each other.",
			Remedy:  "Remove the host from one of the two, and let its owner ask the other for it.",
			State:   audit.StateOpen,
			Objects: []rules.Object{
				{Ref: snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "shop", Name: "web"}, Owner: "team-a", Created: now.Add(-50 * time.Hour)},
				{Ref: snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "retail", Name: "shop-eu"}, Owner: "team-b", Created: now.Add(-3 * time.Hour), Detail: "through its server-alias"},
			},
		},
		OpenedAt: now.Add(-3 * time.Hour),
	}
}

// namespace is a finding on a namespace without a policy.
func namespace(name, direction string, owners ...string) audit.Record {
	s := rules.Subject{Kind: rules.SubjectNamespace, Name: name, Detail: direction}
	return audit.Record{
		Finding: audit.Finding{
			ID: rules.ID("default-deny-present", s), Rule: "default-deny-present", Severity: rules.Medium, Subject: s, Owners: owners,
			Message: "No policy denies " + strings.ToLower(direction) + " in namespace " + name + ". All 2 workloads are open.",
			Cause:   "undetermined: whether a policy that denies was ever there cannot be told from what is stored.",
			Remedy:  "Add a NetworkPolicy with an empty podSelector and policyTypes [" + direction + "].",
			State:   audit.StateOpen,
			Objects: []rules.Object{
				{Ref: snapshot.Ref{Group: "apps", Kind: "Deployment", Namespace: name, Name: "web"}, Owner: "team-a", Created: now.Add(-300 * time.Hour), Detail: "no policy governs it"},
			},
			MoreObjects: 7,
		},
		OpenedAt: now.Add(-26 * time.Hour),
	}
}

// resolved ends a finding an hour ago.
func resolved(r audit.Record, why audit.Reason) audit.Record {
	r.State, r.Reason, r.ResolvedAt = audit.StateResolved, why, now.Add(-time.Hour)
	return r
}

// at marks a record as told to team-a by the message at the parent.
func at(r audit.Record) audit.Record {
	r.SetNotification(audit.Notification{Sender: "slack", Owner: "team-a", Last: audit.EventOpened, Message: parent})
	return r
}

// many are findings on namespaces.
func many(n int) []audit.Record {
	out := make([]audit.Record, n)
	for i := range out {
		out[i] = namespace(fmt.Sprintf("shop-%03d", i), "Ingress", "team-a")
	}
	return out
}

// items are records with one event.
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

// digest is one for team-a. Whatever has a place is what its message told of.
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

// sample is a digest with a name that says what it shows.
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
	instead := digest(1, items(audit.EventOpened, nowhere, host("shop.example.com", "team-x")))
	instead.To.Owner, instead.FallbackReason = "platform", "team-x: post to channel C0999999999: not_in_channel: invite the app to the channel"
	instead.Items[0].Owners = []string{"team-x"}
	changed := digest(2,
		items(audit.EventChanged, parent, stays),
		items(audit.EventReleased, parent, given),
		items(audit.EventResolved, parent, resolved(at(namespace("payments", "Egress", "team-a")), audit.ReasonResolved), resolved(at(namespace("legacy", "Ingress", "team-a")), audit.ReasonExcepted)))
	changed.Earlier[parent] = append(changed.Earlier[parent], items("", parent, at(namespace("search", "Egress", "team-a")))...)
	opened := digest(12, items(audit.EventOpened, nowhere, host("shop.example.com", "team-a", "team-b"), namespace("payments", "Egress", "team-a")))
	return []sample{
		{"opened", "Something is new. What there is to know of each finding stands in the thread.", opened, false},
		{"reopened", "Something came back.", digest(3, items(audit.EventReopened, nowhere, back)), false},
		{"opened-many", "More is new than a message has room for: the thread has all of it.", digest(28, items(audit.EventOpened, nowhere, many(28)...)), false},
		{"storm", "So much is new that nobody could be told of it one by one.", digest(300, items(audit.EventOpened, nowhere, storm...)), false},
		{"changed", "Something changed, was mended, was excepted or became somebody else's: a reply, and the message brought up to date.", changed, false},
		{"resolved", "Everything that a message told of was mended.", digest(0, items(audit.EventResolved, parent, resolved(at(host("shop.example.com", "team-a")), audit.ReasonResolved))), false},
		{"overtaken", "Something was mended before it could be told.", overtaken(), false},
		{"reminder", "Something is still open. A reply, shown in the channel too, since one is high.", digest(2, items(audit.EventReminder, parent, at(host("shop.example.com", "team-a", "team-b")), at(namespace("payments", "Egress", "team-a")))), false},
		{"reminder-medium", "The same where nothing is high: nobody is called, and it stays in the thread.", digest(1, items(audit.EventReminder, parent, at(namespace("payments", "Egress", "team-a")))), false},
		{"instead", "The owner cannot be reached: the fallback owner is told.", instead, false},
		{"hostile", "Names and messages of an attacker: nothing is called, linked, hidden or broken.", hostile(), false},
		{"webhook-opened", "By webhook there is no thread: the details stand in the message.", opened, true},
		{"webhook-changed", "By webhook nothing can be brought up to date.", changed, true},
	}
}

func overtaken() notify.Digest {
	d := digest(0, items(audit.EventResolved, audit.MessageRef{}, resolved(host("shop.example.com", "team-a"), audit.ReasonResolved)))
	d.Items[0].Last = ""
	return d
}

// attacks are names and sentences as an attacker would have them.
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
