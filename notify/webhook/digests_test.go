package webhook_test

import (
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

var swept = time.Date(2026, 9, 29, 10, 5, 0, 0, time.UTC)

// stolen is a finding on a host of two owners.
func stolen() audit.Record {
	return audit.Record{
		Finding: audit.Finding{
			ID: "one-owner-per-host-1f0c9a7be2", Rule: "one-owner-per-host", Severity: rules.High,
			Subject: rules.Subject{Kind: rules.SubjectHost, Name: "shop.example.com"}, Verdict: "contested",
			Owners: []string{"checkout", "growth"}, State: audit.StateOpen, FirstSeen: swept.Add(-20 * time.Minute),
			Message: "2 owners claim shop.example.com.",
			Cause:   "The second claim came 3 s after the first: the gate at admission could not know of it.",
			Remedy:  "Agree on who serves it, and take the host out of the other Ingress.",
			Objects: []rules.Object{
				{Ref: snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "checkout", Name: "shop"}, Owner: "checkout", Created: swept.Add(-30 * 24 * time.Hour), Reason: "claims", Detail: "host of a rule, class nginx"},
				{Ref: snapshot.Ref{Kind: "Service", Namespace: "growth", Name: "promo"}, Created: swept.Add(-time.Hour)},
			},
			MoreObjects: 3,
		},
		Reason: audit.ReasonOpened, OpenedAt: swept.Add(-10 * time.Minute), Reopened: 1, Storm: true,
	}
}

// missing is a finding on a namespace.
func missing() audit.Record {
	return audit.Record{
		Finding: audit.Finding{
			ID: "default-deny-present-77aa01cd42", Rule: "default-deny-present", Severity: rules.Medium,
			Subject: rules.Subject{Kind: rules.SubjectNamespace, Namespace: "checkout", Name: "checkout", Detail: "Egress"},
			Owners:  []string{"checkout"}, State: audit.StateResolved, FirstSeen: swept.Add(-75 * time.Hour),
			Message: "No policy denies egress of checkout by default.",
		},
		Reason: audit.ReasonResolved, OpenedAt: swept.Add(-75 * time.Hour), ResolvedAt: swept,
	}
}

// hostile is a finding of which every text is meant to do harm.
func hostile() audit.Record {
	const evil = "<!channel> <https://x|y> *b* `c`\n\r\x1b[2J\u202e\u200b\x00\xff\"}]\\ </script>"
	r := stolen()
	r.ID, r.Verdict, r.Message, r.Cause, r.Remedy = "one-owner-per-host-00ee", evil, evil, evil, evil
	r.Subject.Name, r.Owners = evil+strings.Repeat("n", 253), []string{evil}
	r.Objects = []rules.Object{{Ref: snapshot.Ref{Group: evil, Kind: evil, Namespace: evil, Name: evil}, Owner: evil, Reason: evil, Detail: evil}}
	return r
}

func item(event audit.Event, r audit.Record, owners ...string) notify.Item {
	return notify.Item{Record: r, Event: event, Owners: owners}
}

func digest(items ...notify.Item) notify.Digest {
	return notify.Digest{
		Cluster: "prod-eu-1", To: notify.Recipient{Owner: "checkout"}, Items: items, Open: 4, Now: swept,
	}
}

// told is an item of which something was told before.
func told(it notify.Item, last audit.Event, at time.Time) notify.Item {
	it.Last, it.NotifiedAt = last, at
	return it
}

// digests are one of each kind, by the name of the file that shows it.
func digests() map[string]notify.Digest {
	yesterday := swept.Add(-24*time.Hour + 123*time.Millisecond)
	fallback := digest(item(audit.EventOpened, stolen(), "stray", "nobody"))
	fallback.To.Owner, fallback.FallbackReason = "platform", "nobody: channel_not_found"
	unnamed := digest(item(audit.EventOpened, hostile(), "checkout"))
	unnamed.Cluster = ""
	return map[string]notify.Digest{
		"opened": digest(item(audit.EventOpened, stolen(), "checkout")),
		"mixed": digest(
			told(item(audit.EventChanged, stolen(), "checkout"), audit.EventOpened, yesterday),
			told(item(audit.EventResolved, missing(), "checkout"), audit.EventOpened, yesterday)),
		"reopened": digest(told(item(audit.EventReopened, stolen(), "checkout"), audit.EventResolved, yesterday)),
		"released": digest(told(item(audit.EventReleased, stolen(), "checkout"), audit.EventChanged, yesterday)),
		"reminder": digest(told(item(audit.EventReminder, stolen(), "checkout"), audit.EventOpened, yesterday)),
		"details":  digest(told(item(audit.EventDetails, stolen(), "checkout"), audit.EventOpened, yesterday)),
		"fallback": fallback,
		"hostile":  unnamed,
	}
}
