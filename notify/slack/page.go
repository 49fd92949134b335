package slack

import (
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// The budget of a message. Slack takes 50 blocks, and refuses a message for the
// characters of all its blocks somewhere above 9,600; it does not say how it
// counts them. A block is counted as the most that one was seen to cost.
const (
	maxBlocks     = 40
	maxCharacters = 8900
	blockCost     = 125
	maxHeader     = 150 // of Slack itself
	reserve       = 700 // for what is said at the end of a page
)

// page is a message in the making. It takes what fits its budget.
type page struct {
	blocks     []slack.Block
	characters int
	heading    string              // of the list
	list       *slack.RichTextList // that lines are added to; nil: the page does not end with one
	covers     []notify.Covered
}

// add appends a block if it fits.
func (p *page) add(blocks ...slack.Block) bool {
	cost := 0
	for _, b := range blocks {
		cost += blockCost + length(b)
	}
	if !p.room(cost, len(blocks)) {
		return false
	}
	p.put(cost, blocks...)
	return true
}

// end appends blocks that the reserve is for.
func (p *page) end(blocks ...slack.Block) {
	for _, b := range blocks {
		p.put(blockCost+length(b), b)
	}
}

func (p *page) put(cost int, blocks ...slack.Block) {
	p.list, p.heading = nil, ""
	p.characters += cost
	p.blocks = append(p.blocks, blocks...)
}

func (p *page) room(characters, blocks int) bool {
	return p.characters+characters <= maxCharacters-reserve && len(p.blocks)+blocks <= maxBlocks-2
}

// addLine appends a line to the list under a heading if it fits. The list is
// begun where the page does not end with it.
func (p *page) addLine(heading string, l line) bool {
	if p.list != nil && p.heading == heading {
		if !p.room(l.length(), 0) {
			return false
		}
		p.characters += l.length()
		p.list.Elements = append(p.list.Elements, l.section())
		return true
	}
	list := slack.NewRichTextList(slack.RTEListBullet, 0, l.section())
	block := slack.NewRichTextBlock("", list)
	if heading != "" {
		block = slack.NewRichTextBlock("", line{strong(heading)}.section(), list)
	}
	if !p.add(block) {
		return false
	}
	p.list, p.heading = list, heading
	return true
}

// cover notes that the page tells of an item, and what is to be told next.
func (p *page) cover(i notify.Item, next audit.Event) {
	p.covers = append(p.covers, notify.Covered{ID: i.Record.ID, Event: i.Event, Next: next})
}

// length counts the characters that a block shows.
func length(b slack.Block) int { return utf8.RuneCountInString(readable(b)) }
