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

// Webhook notifies owners with incoming webhooks. Each is bound to a channel, and can
// neither reply nor update. A Webhook may be used by several goroutines at once.
type Webhook struct {
	caller
	url   func(address string) (notify.Secret, error)
	hosts []string
}

// NewWebhook returns a sender. The function returns the URL for a recipient's address,
// such as the content of that file. Webhooks must be on one of the hosts; by default,
// these are Slack's, over https.
func NewWebhook(url func(address string) (notify.Secret, error), hosts []string, o Options) *Webhook {
	return &Webhook{caller: newCaller(o), url: url, hosts: hosts}
}

// Name returns notify.SlackWebhookName.
func (*Webhook) Name() string { return notify.SlackWebhookName }

// Plan returns the messages of a digest: at most one each for what was opened, what has
// changed and what is still open, as far as it fits.
func (*Webhook) Plan(d notify.Digest) []notify.Message { return plan(d, false) }

// Send posts a message to the recipient's webhook. The returned reference is zero:
// webhooks do not return one.
func (w *Webhook) Send(ctx context.Context, to notify.Recipient, m notify.Message, _ audit.MessageRef) (audit.MessageRef, error) {
	doing := "post to the webhook of " + to.Owner
	content, f := bodyOf(m)
	if f.outcome != sent {
		return audit.MessageRef{}, newError(doing, f, notify.Secret{})
	}
	secret, err := w.url(to.Address)
	if err != nil {
		return audit.MessageRef{}, newError("read the URL of the webhook of "+to.Owner, failure{outcome: transient, text: err.Error()}, notify.Secret{})
	}
	if err := w.check(secret); err != nil {
		return audit.MessageRef{}, newError(doing, failure{outcome: refused, text: err.Error()}, secret)
	}
	f = w.try(ctx, to.Address, interval, func(ctx context.Context) error { return w.post(ctx, secret, content) })
	if f.outcome == blocksRejected {
		f = w.try(ctx, to.Address, interval, func(ctx context.Context) error { return w.post(ctx, secret, content.plain()) })
	}
	if f.outcome != sent {
		return audit.MessageRef{}, newError(doing, f, secret)
	}
	return audit.MessageRef{}, nil
}

// check rejects a URL that is not a webhook's. The error shows nothing of the URL.
func (w *Webhook) check(secret notify.Secret) error {
	u, err := url.Parse(secret.Reveal())
	switch {
	case err != nil || u.Host == "" || u.User != nil || len(u.Path) < 2:
		return errors.New("it is not a webhook URL")
	case len(w.hosts) > 0:
		if !slices.Contains(w.hosts, u.Host) || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("its host is not allowed for webhooks")
		}
	case u.Scheme != "https" || u.Host != "hooks.slack.com" && u.Host != "hooks.slack-gov.com":
		return errors.New("it does not start with https://hooks.slack.com/")
	}
	return nil
}

// maxResponse bounds a response, which is one word.
const maxResponse = 1000

// post makes one call. The library's own function leaks the URL in its errors, and hides
// Slack's error code.
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
	response, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		return retryAfter(resp.Header)
	case resp.StatusCode != http.StatusOK:
		return &webhookError{status: resp.StatusCode, code: strings.TrimSpace(string(response))}
	case err != nil:
		return fmt.Errorf("read the response: %w", err)
	case strings.TrimSpace(string(response)) != "ok":
		return errNotSlack
	}
	return nil
}

// retryAfter returns an error that says how long to wait.
func retryAfter(h http.Header) error {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil {
		return &slack.RateLimitedError{RetryAfter: defaultWait}
	}
	return &slack.RateLimitedError{RetryAfter: time.Duration(seconds) * time.Second}
}
