package slack

import (
	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// Parts returns the parts of a message.
func Parts(m notify.Message) (update audit.MessageRef, broadcast bool, text string, blocks []slack.Block) {
	b := m.Body.(body)
	return b.update, b.broadcast, b.text, b.blocks
}

// Functions that have tests of their own.
var (
	CodeSpan = codeSpan
	Symbol   = symbol
)
