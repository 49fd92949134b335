package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// Webhook tells owners by incoming webhooks: each is bound to a channel, and can
// neither reply nor update. It may be used by several goroutines at once.
type Webhook struct {
	caller
	url   func(address string) (notify.Secret, error)
	hosts []string
}

// NewWebhook returns a sender. The function returns the URL for the address of a
// recipient, such as the content of that file. Hosts are where a webhook may be;
// without any they are those of Slack, by https.
func NewWebhook(url func(address string) (notify.Secret, error), hosts []string, o Options) *Webhook {
	return &Webhook{caller: newCaller(o), url: url, hosts: hosts}
}

// Name is the name under which it is stored what was told.
func (*Webhook) Name() string { return notify.SlackWebhookName }

// Plan makes the messages of a digest: at most one each for what was opened, for
// what changed and for what is still open, as far as there is room in them.
func (*Webhook) Plan(d notify.Digest) []notify.Message { return plan(d, false) }

// Send posts a message to the webhook of the recipient. It is nowhere then, as far
// as the webhook tells.
func (w *Webhook) Send(ctx context.Context, to notify.Recipient, m notify.Message, _ audit.MessageRef) (audit.MessageRef, error) {
	doing := "post to the webhook of " + to.Owner
	content, f := bodyOf(m)
	if f.outcome != sent {
		return audit.MessageRef{}, newError(doing, f, notify.Secret{})
	}
	secret, err := w.url(to.Address)
	if err != nil {
		return audit.MessageRef{}, newError("read the URL of the webhook of "+to.Owner, failure{outcome: passing, text: err.Error()}, notify.Secret{})
	}
	if err := w.check(secret); err != nil {
		return audit.MessageRef{}, newError(doing, failure{outcome: refused, text: err.Error()}, secret)
	}
	f = w.try(ctx, to.Address, interval, func() error { return w.post(ctx, secret, content) })
	if f.outcome == tooRich {
		f = w.try(ctx, to.Address, interval, func() error { return w.post(ctx, secret, content.plain()) })
	}
	if f.outcome != sent {
		return audit.MessageRef{}, newError(doing, f, secret)
	}
	return audit.MessageRef{}, nil
}

// check refuses a URL that is none of a webhook, and shows nothing of it.
func (w *Webhook) check(secret notify.Secret) error {
	u, err := url.Parse(secret.Reveal())
	switch {
	case err != nil || u.Host == "" || u.User != nil || len(u.Path) < 2:
		return errors.New("it is no URL of a webhook")
	case len(w.hosts) > 0:
		if !slices.Contains(w.hosts, u.Host) || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("its host is not one that a webhook may be at")
		}
	case u.Scheme != "https" || u.Host != "hooks.slack.com" && u.Host != "hooks.slack-gov.com":
		return errors.New("it does not begin with https://hooks.slack.com/")
	}
	return nil
}

// maxAnswer is how much of an answer is read: it is a word.
const maxAnswer = 1000

// post makes one call. The library's own gives away the URL in its errors, and
// not the word that says why a message is refused.
func (w *Webhook) post(ctx context.Context, secret notify.Secret, content body) error {
	no := false
	message := slack.WebhookMessage{Text: content.text, UnfurlLinks: &no, UnfurlMedia: &no}
	if content.blocks != nil {
		message.Blocks = &slack.Blocks{BlockSet: content.blocks}
	}
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, secret.Reveal(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return limitedBy(resp.Header)
	case resp.StatusCode != http.StatusOK:
		return &webhookError{status: resp.StatusCode, word: strings.TrimSpace(string(answer))}
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	case strings.TrimSpace(string(answer)) != "ok":
		return errNoAnswer
	}
	return nil
}

// limitedBy reads how long to wait.
func limitedBy(h http.Header) error {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil {
		return &slack.RateLimitedError{RetryAfter: patience}
	}
	return &slack.RateLimitedError{RetryAfter: time.Duration(seconds) * time.Second}
}

// webhookError is a refusal by a webhook.
type webhookError struct {
	status int
	word   string
}

func (e *webhookError) Error() string { return http.StatusText(e.status) }
