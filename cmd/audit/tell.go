package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/slack"
	"github.com/eventuallytrue/audit/notify/webhook"
)

// slackToken is the environment variable that may hold the bot token.
const slackToken = "AUDIT_SLACK_TOKEN"

// openTeller makes what tells owners after each sweep; nil where the config names
// nobody to be told. It finds out at once whether secrets can be read, and reads
// them again for every message, for they are rotated.
func (o *sweepOptions) openTeller(store audit.Store) (func(*audit.Result) audit.Notifier, error) {
	senders, err := o.senders()
	if err != nil {
		return nil, err
	}
	if o.config.UsesChannels() && !o.hasBot() {
		// Else a token that was forgotten looks as if all owners had been told.
		fmt.Fprintf(o.err, "audit: note: nobody is told in a channel of Slack: slack.tokenFile is not given, and %s is not set\n", slackToken)
	}
	if len(senders) == 0 {
		return nil, nil
	}
	host, _ := os.Hostname() // a name for people; the random part tells apart
	deliverer := notify.Deliverer{
		Store: store, Senders: senders, Cluster: o.config.Cluster, Namespace: o.publishing.namespace, Publisher: host + "_" + rand.Text(),
		WithLease: o.publishing.leaderElect, RemindAfter: time.Duration(o.config.Slack.RemindAfter), Clock: o.now,
	}
	return func(res *audit.Result) audit.Notifier {
		d := deliverer
		d.Routes = o.router(res, senders).Routes()
		if o.publishing.dryRun {
			return rehearsal{telling{&d}, res}
		}
		return telling{&d}
	}, nil
}

// senders returns those that the config has something for, by name.
func (o *sweepOptions) senders() ([]notify.Sender, error) {
	var senders []notify.Sender
	if o.hasBot() {
		if _, err := o.botToken(); err != nil {
			return nil, err
		}
		senders = append(senders, slack.NewBot(o.botToken, o.publishing.slackURL, slack.Options{}))
	}
	hooked := false
	for _, team := range o.config.Owners.Teams {
		if file := team.Slack.WebhookFile; file != "" {
			hooked = true
			if _, err := notify.ReadSecret(file); err != nil {
				return nil, fmt.Errorf("read the incoming webhook of team %s: %w", team.Name, err)
			}
		}
	}
	if hooked {
		senders = append(senders, slack.NewWebhook(notify.ReadSecret, nil, slack.Options{}))
	}
	if w := o.config.Webhook; w.URL != "" {
		sender, err := webhook.New(webhook.Options{
			URL: string(w.URL), Version: version(), Clock: o.now,
			Secret: func() (notify.Secret, error) { return notify.ReadSecret(w.SecretFile) },
		})
		if err != nil {
			return nil, err
		}
		senders = append(senders, sender)
	}
	return senders, nil
}

// hasBot reports whether there is a token, or a file that must hold one.
func (o *sweepOptions) hasBot() bool {
	return o.config.Slack.TokenFile != "" || o.getenv(slackToken) != ""
}

// botToken reads the token that Slack knows the program by.
func (o *sweepOptions) botToken() (notify.Secret, error) {
	if file := o.config.Slack.TokenFile; file != "" {
		token, err := notify.ReadSecret(file)
		if err != nil {
			return notify.Secret{}, fmt.Errorf("read the Slack token: %w", err)
		}
		return token, nil
	}
	token, err := notify.NewSecret([]byte(o.getenv(slackToken)))
	if err != nil {
		return notify.Secret{}, fmt.Errorf("read the Slack token from %s: %w", slackToken, err)
	}
	return token, nil
}

// router finds the ways to owners that the senders can go.
func (o *sweepOptions) router(res *audit.Result, senders []notify.Sender) *notify.Router {
	return &notify.Router{
		Config: &o.config, Ownership: res.Ownership, Now: o.now(),
		HasSender: func(name string) bool {
			return slices.ContainsFunc(senders, func(s notify.Sender) bool { return s.Name() == name })
		},
	}
}

// telling is a notify.Deliverer as audit knows it.
type telling struct{ *notify.Deliverer }

func (t telling) Senders(rule, owner string) []string { return t.Routes.Senders(rule, owner) }

// untold says what owners were not told, and why.
func untold(all []audit.Delivery) []string {
	var lines []string
	for _, d := range audit.Undelivered(all) {
		who := d.Sender
		if d.Owner != "" { // Events are for nobody in particular
			who = d.Owner + " by " + d.Sender
		}
		lines = append(lines, fmt.Sprintf("%s: %s: %s", who, d.Result, d.Reason))
	}
	return lines
}

// undelivered is untold as one error.
func undelivered(all []audit.Delivery) error {
	lines := untold(all)
	if len(lines) == 0 {
		return nil
	}
	return errors.New("tell owners:\n" + someLines(lines))
}

// someLines returns what failed, a line for each of the first few: where a right is
// missing all of them say the same.
func someLines(failed []string) string {
	const most = 10
	if len(failed) > most {
		more := fmt.Sprintf("and %d more", len(failed)-most)
		failed = append(slices.Clone(failed[:most]), more)
	}
	return strings.Join(failed, "\n")
}
