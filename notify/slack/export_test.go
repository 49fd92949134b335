package slack

import (
	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// Parts are what a message is made of.
func Parts(m notify.Message) (update audit.MessageRef, broadcast bool, text string, blocks []slack.Block) {
	b := m.Body.(body)
	return b.update, b.broadcast, b.text, b.blocks
}

// What is tested, or shown, by itself.
var (
	CodeSpan = codeSpan
	Seen     = seen
	Symbol   = symbol
)
