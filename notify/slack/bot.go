// Package slack tells owners in Slack: as an app with a bot token, which can reply
// in threads and bring its messages up to date, or by incoming webhooks, which can
// only post.
//
// Everything that comes from the cluster stands in elements that Slack shows as
// they are: plain text and rich text. Whom a message calls comes from the config
// alone. Messages keep well below the limits of Slack, documented or not.
package slack

import (
	"context"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// APIURL is where the Web API is.
const APIURL = slack.APIURL

// Bot tells owners as an app with a bot token, which needs the scope chat:write
// and an invitation to each channel. It may be used by several goroutines at once.
type Bot struct {
	caller
	token func() (notify.Secret, error)
	url   string
}

// NewBot returns a sender whose token is asked for before each message, since
// tokens are exchanged. The URL is APIURL but in tests: whoever is there gets the
// token.
func NewBot(token func() (notify.Secret, error), url string, o Options) *Bot {
	return &Bot{caller: newCaller(o), token: token, url: url}
}

// Name is the name under which it is stored what was told.
func (*Bot) Name() string { return notify.SlackName }

// Plan makes the messages of a digest: one for what was opened with the details in
// its thread, replies to those that told of what has changed since, and updates of
// those.
func (*Bot) Plan(d notify.Digest) []notify.Message { return plan(d, true) }

// Send posts or updates a message in the channel that is the recipient's address.
// A reply to a message that is gone is posted as one of its own, and so is one in a
// channel that is gone where the address is a name that another one has by now.
func (b *Bot) Send(ctx context.Context, to notify.Recipient, m notify.Message, beneath audit.MessageRef) (audit.MessageRef, error) {
	channel := to.Address
	if beneath.Message != "" && beneath.Channel != channel {
		channel = beneath.Channel // the thread is there, whatever a name means by now
		b.pace.known(to.Address, channel, 0)
	}
	doing := "post to channel " + seen(channel, maxLineName)
	content, f := bodyOf(m)
	if f.outcome != sent {
		return audit.MessageRef{}, newError(doing, f, notify.Secret{})
	}
	token, err := b.token()
	if err != nil {
		return audit.MessageRef{}, newError("read the token", failure{outcome: passing, text: err.Error()}, notify.Secret{})
	}
	api := slack.New(token.Reveal(), slack.OptionHTTPClient(b.http), slack.OptionAPIURL(b.url))
	place := content.update
	if place != (audit.MessageRef{}) {
		doing = "update a message in channel " + place.Channel
		f = b.update(ctx, api, content)
	} else {
		place, f = b.post(ctx, api, channel, beneath.Message, content)
		if f.outcome == gone && channel != to.Address {
			// The name is that of another channel by now.
			doing = "post to channel " + seen(to.Address, maxLineName)
			place, f = b.post(ctx, api, to.Address, "", content)
		}
	}
	if f.outcome != sent {
		return audit.MessageRef{}, newError(doing, f, token)
	}
	return place, nil
}

func (b *Bot) post(ctx context.Context, api *slack.Client, channel, thread string, content body) (audit.MessageRef, failure) {
	for {
		var place audit.MessageRef
		f := b.try(ctx, channel, interval, func() (err error) {
			place.Channel, place.Message, err = api.PostMessageContext(ctx, channel, content.options(thread)...)
			if err == nil && place.Message == "" {
				// The library takes any JSON without an error in it for a success.
				err = errNoAnswer
			}
			return err
		})
		switch {
		case f.outcome == homeless && thread != "":
			thread = ""
		case f.outcome == tooRich && content.blocks != nil:
			content = content.plain()
		default:
			if f.outcome == sent && place.Channel != channel {
				b.pace.known(channel, place.Channel, interval)
			}
			return place, f
		}
	}
}

// update brings a message up to date. Slack limits updates of all channels
// together.
func (b *Bot) update(ctx context.Context, api *slack.Client, content body) failure {
	return b.try(ctx, "chat.update", 0, func() error {
		options := slack.MsgOptionCompose(slack.MsgOptionText(content.text, false), slack.MsgOptionBlocks(content.blocks...))
		_, _, _, err := api.UpdateMessageContext(ctx, content.update.Channel, content.update.Message, options)
		return err
	})
}

// options are the arguments of a post.
func (b body) options(thread string) []slack.MsgOption {
	// The text is escaped already, and escaping it here would not escape blocks.
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

// plain is the message without the blocks that Slack refused, for whatever limit
// of its own it did.
func (b body) plain() body {
	b.blocks = nil
	b.text += ". Slack did not take all of it: `kubectl get findings` has the rest."
	return b
}
