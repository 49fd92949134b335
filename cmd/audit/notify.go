package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/audit/remedy"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/webhook"
	"github.com/eventuallytrue/audit/rules/catalog"
)

// slackTokenEnv is the environment variable that may hold the bot token.
const slackTokenEnv = "AUDIT_SLACK_TOKEN"

// notifying is what makes notifiers.
type notifying struct {
	config       *config.Config
	token        string // from the environment; the config's file takes precedence
	slackURL     string
	namespace    string // of the findings
	leased       bool   // the publisher uses leader election
	dryRun       bool
	retryRefused bool
	now          func() time.Time
	note         func(string) // prints what a preview should say
	// changedAt returns since when the config and the secrets are what they are; nil: not
	// known.
	changedAt func() time.Time
}

// digest identifies what decides whether receivers accept messages: the config, of which
// it gets the digest, the token, and other secrets. No secret can be recognized by it. A
// secret that can't be read now counts as none.
func (n *notifying) digest(config string) string {
	h := sha256.New()
	write := func(s notify.Secret, err error) {
		if err == nil {
			fmt.Fprintf(h, "%q\n", s.Reveal())
		}
	}
	fmt.Fprintf(h, "audit %q %q\n", n.namespace, config)
	if n.hasBot() {
		write(n.botToken())
	}
	for _, team := range n.config.Owners.Teams {
		if file := team.Slack.WebhookFile; file != "" {
			write(notify.ReadSecret(file))
		}
	}
	if file := n.config.Webhook.SecretFile; file != "" {
		write(notify.ReadSecret(file))
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// open returns what makes the notifier of each sweep; nil where the config has no
// receivers. Secrets are read in each sweep and again for every message, because they are
// rotated.
func (n *notifying) open(store audit.Store) (func(*audit.Result) audit.Notifier, error) {
	senders, err := n.senders()
	if err != nil || len(senders) == 0 {
		return nil, err
	}
	if n.dryRun {
		// A preview sends nothing, so that is no failure of it.
		for _, u := range n.unready(senders) {
			n.note(u.Sender + ": " + u.Reason)
		}
	}
	host, _ := os.Hostname() // for people; the random part identifies the process
	deliverer := notify.Deliverer{
		Store: store, Senders: senders, Cluster: n.config.Cluster, Namespace: n.namespace, Publisher: host + "_" + rand.Text(),
		WithLease: n.leased, RemindAfter: time.Duration(n.config.Slack.RemindAfter), Clock: n.now, Patience: 5 * time.Second, RetryRefused: n.retryRefused,
		Memory: &notify.Memory{},
	}
	return func(res *audit.Result) audit.Notifier {
		d := deliverer
		d.Unready = n.unready(senders)
		d.Routes = (&notify.Router{
			Config: n.config, Ownership: res.Ownership, Now: n.now(),
			HasSender: func(name string) bool {
				return slices.ContainsFunc(senders, func(s notify.Sender) bool { return s.Name() == name })
			},
		}).Routes()
		d.Guide = n.guide(res)
		if n.changedAt != nil {
			d.ChangedAt = n.changedAt()
		}
		if n.dryRun {
			return dryRun{notifier{&d}, res}
		}
		return notifier{&d}
	}, nil
}

// guide returns what helps readers of the messages about a result. What would end a
// finding is found out when the first message needs it.
func (n *notifying) guide(res *audit.Result) notify.Guide {
	links, cluster := n.config.Links, n.config.Cluster
	channels := audit.ChannelNamespaces(res.Ownership)
	fixes := sync.OnceValue(func() map[string]string { return remedy.Find(res, n.config.Owners.Keys[0]) })
	return notify.Guide{
		Channel: func(owner string) string {
			if to := audit.DestinationOf(channels.Of(owner), n.config); to.From != audit.FromFallback {
				return to.Channel
			}
			return ""
		},
		Finding: func(r *audit.Record) string { return links.Finding.To(cluster, r.ID, r.Rule, r.Subject) },
		Rule:    func(r *audit.Record) string { return links.Rule.To(cluster, r.ID, r.Rule, r.Subject) },
		Fix:     func(id string) string { return fixes()[id] },
	}
}

// senders returns the senders that the config has something for, by name.
func (n *notifying) senders() ([]notify.Sender, error) {
	var senders []notify.Sender
	if n.hasBot() || n.config.NeedsBot(catalog.All()) {
		senders = append(senders, slack.NewBot(n.botToken, n.slackURL, slack.Options{}))
	}
	if slices.ContainsFunc(n.config.Owners.Teams, func(t config.Team) bool { return t.Slack.WebhookFile != "" }) {
		senders = append(senders, slack.NewWebhook(notify.ReadSecret, nil, slack.Options{}))
	}
	if w := n.config.Webhook; w.URL != "" {
		sender, err := webhook.New(webhook.Options{
			URL: string(w.URL), Version: version(), Clock: n.now,
			Secret: func() (notify.Secret, error) { return notify.ReadSecret(w.SecretFile) },
		})
		if err != nil {
			return nil, err
		}
		senders = append(senders, sender)
	}
	return senders, nil
}

// unready returns what cannot be sent because a secret cannot be read. That is no reason
// not to sweep: findings are stored and metrics are pushed, and what is pending is sent
// as soon as the secret is there.
func (n *notifying) unready(senders []notify.Sender) []notify.Unready {
	const until = "; nothing is sent until the file can be read and holds the secret"
	var out []notify.Unready
	switch _, err := n.botToken(); {
	case n.hasBot() && err != nil:
		out = append(out, notify.Unready{Sender: notify.SlackName, Reason: err.Error() + until})
	case !n.hasBot() && n.config.NeedsBot(catalog.All()):
		// Otherwise a forgotten token would look as if all owners had been notified.
		out = append(out, notify.Unready{
			Sender: notify.SlackName,
			Reason: "no one is notified in a Slack channel: set slack.tokenFile or " + slackTokenEnv + ", or reportOnly: true where no one is to be notified yet",
		})
	}
	for _, team := range n.config.Owners.Teams {
		if file := team.Slack.WebhookFile; file != "" {
			if _, err := notify.ReadSecret(file); err != nil {
				out = append(out, notify.Unready{
					Sender: notify.SlackWebhookName, Address: file, Owner: team.Name, Reason: "read the incoming webhook: " + err.Error() + until,
				})
			}
		}
	}
	for _, s := range senders {
		if w, ok := s.(*webhook.Sender); ok {
			if err := w.Ready(); err != nil {
				out = append(out, notify.Unready{Sender: w.Name(), Reason: err.Error() + until})
			}
		}
	}
	return out
}

// hasBot reports whether there is a token, or a file that must hold one.
func (n *notifying) hasBot() bool { return n.config.Slack.TokenFile != "" || n.token != "" }

// botToken reads the token of the Slack bot.
func (n *notifying) botToken() (notify.Secret, error) {
	if file := n.config.Slack.TokenFile; file != "" {
		token, err := notify.ReadSecret(file)
		if err != nil {
			return notify.Secret{}, fmt.Errorf("read the Slack token: %w", err)
		}
		return token, nil
	}
	token, err := notify.NewSecret([]byte(n.token))
	if err != nil {
		return notify.Secret{}, fmt.Errorf("read the Slack token from %s: %w", slackTokenEnv, err)
	}
	return token, nil
}

// notifier is a notify.Deliverer as package audit uses it.
type notifier struct{ *notify.Deliverer }

func (n notifier) Senders(rule, owner string) []string { return n.Routes.Senders(rule, owner) }

func (n notifier) SameReader(rule string, was audit.Notification, owner string) bool {
	return n.Routes.SameReader(rule, was, owner)
}

// dryRun sends nothing: it adds the messages to the result.
type dryRun struct {
	notifier
	res *audit.Result
}

func (d dryRun) Deliver(_ context.Context, stored []audit.Stored) []audit.Delivery {
	for _, p := range d.Preview(stored) {
		for _, m := range p.Messages {
			d.res.Messages = append(d.res.Messages, audit.Message{
				Sender: p.Sender, Owner: p.To.Owner, Address: p.To.Address, Held: p.Held, Text: m.Text,
			})
		}
	}
	return nil
}

// reportOnlyOf counts what report-only keeps from owners, as if every sender that the
// config may have were there: a sweep run manually often has no token.
func reportOnlyOf(cfg *config.Config, res *audit.Result, now time.Time) *audit.ReportOnly {
	return (&notify.Router{
		Config: cfg, Ownership: res.Ownership, Now: now,
		HasSender: func(name string) bool { return name != notify.WebhookName || cfg.Webhook.URL != "" },
	}).ReportOnly(res.Findings)
}
