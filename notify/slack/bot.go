// Package slack notifies owners in Slack: as an app with a bot token, which can reply in
// threads and update its messages, or with incoming webhooks, which can only post.
//
// All text from the cluster is in elements that Slack shows verbatim: plain text and rich
// text. Mentions come from the config only. Messages stay well below the limits of Slack,
// documented or not.
package slack

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/url"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/notify/visible"
)

// APIURL is the URL of the Web API.
const APIURL = slack.APIURL

// Bot notifies owners as an app with a bot token. The app needs the scope chat:write and
// an invitation to each channel. A Bot may be used by several goroutines at once.
type Bot struct {
	caller
	token func() (notify.Secret, error)
	url   string
}

// NewBot returns a sender. It calls token before each message, since tokens are rotated.
// The URL is APIURL except in tests: the server there gets the token.
func NewBot(token func() (notify.Secret, error), url string, o Options) *Bot {
	return &Bot{caller: newCaller(o), token: token, url: url}
}

// Name returns notify.SlackName.
func (*Bot) Name() string { return notify.SlackName }

// Plan returns the messages of a digest: an announcement of what was opened with the
// details in its thread, replies to the announcements of what has changed, and updates of
// those announcements.
func (*Bot) Plan(d notify.Digest) []notify.Message { return plan(d, true) }

// Send posts or updates a message in the channel that is the recipient's address. A reply
// becomes a message of its own if the message it replies to is gone, or its channel is and
// the address is a name that another channel has by now.
func (b *Bot) Send(ctx context.Context, to notify.Recipient, m notify.Message, thread audit.MessageRef) (audit.MessageRef, error) {
	channel := to.Address
	if thread.Message != "" && thread.Channel != channel {
		channel = thread.Channel // the thread is there, even if the name means another channel by now
		b.pace.known(to.Address, channel, 0)
	}
	doing := "post to channel " + visible.Short(channel, maxLineName)
	content, f := bodyOf(m)
	if f.outcome != sent {
		return audit.MessageRef{}, newError(doing, f, notify.Secret{})
	}
	token, err := b.token()
	if err != nil {
		return audit.MessageRef{}, newError("read the token", failure{outcome: transient, text: err.Error()}, notify.Secret{})
	}
	api := slack.New(token.Reveal(), slack.OptionHTTPClient(b.http), slack.OptionAPIURL(b.url))
	place := content.update
	if place != (audit.MessageRef{}) {
		doing = "update a message in channel " + place.Channel
		f = b.update(ctx, api, content)
	} else {
		place, f = b.post(ctx, api, channel, thread.Message, m.Key, content)
		if f.outcome == channelGone && channel != to.Address {
			// Another channel has the name by now.
			doing = "post to channel " + visible.Short(to.Address, maxLineName)
			place, f = b.post(ctx, api, to.Address, "", m.Key, content)
		}
	}
	if f.outcome != sent {
		return audit.MessageRef{}, newError(doing, f, token)
	}
	return place, nil
}

func (b *Bot) post(ctx context.Context, api *slack.Client, channel, thread, key string, content body) (audit.MessageRef, failure) {
	for {
		var place audit.MessageRef
		options := content.options(thread)
		if key != "" {
			options = append(options, b.clientMessageID(channel, thread, key))
		}
		f := b.try(ctx, channel, interval, func(ctx context.Context) (err error) {
			place.Channel, place.Message, err = api.PostMessageContext(ctx, channel, options...)
			if err == nil && place.Message == "" {
				// The library takes any JSON without an error for a success.
				err = errNotSlack
			}
			return err
		})
		switch {
		case f.outcome == keyRejected && key != "":
			key = ""
		case f.outcome == threadGone && thread != "":
			thread = ""
		case f.outcome == blocksRejected && content.blocks != nil:
			content = content.plain()
		default:
			if f.outcome == sent && place.Channel != channel {
				b.pace.known(channel, place.Channel, interval)
			}
			return place, f
		}
	}
}

// clientMessageID sends client_msg_id, the ID by which Slack's own clients recognize a
// message that they send again. The reference of chat.postMessage does not list it as an
// argument, and promises nothing; it only lists the errors duplicate_message_not_found
// ("No duplicate message exists associated with client_msg_id") and
// duplicate_channel_not_found. So it may spare a channel a copy, and nothing relies on it:
// without the ID the message is sent as before.
func (b *Bot) clientMessageID(channel, thread, key string) slack.MsgOption {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", channel, thread, key))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8, RFC 9562
	id := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	return slack.UnsafeMsgOptionEndpoint(b.url+"chat.postMessage", func(args url.Values) { args.Set("client_msg_id", id) })
}

// update updates a message. Slack limits updates across all channels. An update is the
// same when it is repeated, so one whose response was lost is.
func (b *Bot) update(ctx context.Context, api *slack.Client, content body) failure {
	for tries := 1; ; tries++ {
		if f := b.updateOnce(ctx, api, content); f.outcome != unconfirmed || tries == maxTries {
			return f
		}
	}
}

func (b *Bot) updateOnce(ctx context.Context, api *slack.Client, content body) failure {
	return b.try(ctx, "chat.update", 0, func(ctx context.Context) error {
		options := slack.MsgOptionCompose(slack.MsgOptionText(content.text, false), slack.MsgOptionBlocks(content.blocks...))
		_, _, _, err := api.UpdateMessageContext(ctx, content.update.Channel, content.update.Message, options)
		return err
	})
}

// options are the arguments of a post.
func (b body) options(thread string) []slack.MsgOption {
	// The text is already escaped; escaping it here would not escape the blocks.
	options := []slack.MsgOption{
		slack.MsgOptionText(b.text, false), slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionDisableMediaUnfurl(),
	}
	if b.blocks != nil {
		options = append(options, slack.MsgOptionBlocks(b.blocks...))
	}
	if thread != "" {
		options = append(options, slack.MsgOptionTS(thread))
		if b.broadcast {
			options = append(options, slack.MsgOptionBroadcast())
		}
	}
	return options
}

// plain returns the message without the blocks, which Slack rejected for some limit of
// its own.
func (b body) plain() body {
	b.blocks = nil
	b.text += ". Slack rejected the full message: run `kubectl get findings` to see the rest."
	return b
}
