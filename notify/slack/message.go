package slack

import (
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
	"github.com/eventuallytrue/audit/rules"
)

// body is the notify.Message.Body of this package's senders.
type body struct {
	update    audit.MessageRef // the message to update; zero: post a new one
	broadcast bool             // show a reply in the channel as well
	text      string           // for notifications, and for clients that show no blocks
	blocks    []slack.Block
}

// The budget of a message. Slack accepts 50 blocks, and rejects a message for the total
// characters of its blocks somewhere above 9,600; how it counts is undocumented. A block
// is counted at the highest cost that was observed.
const (
	maxBlocks     = 40
	maxCharacters = 8900
	blockCost     = 125
	maxHeader     = 150 // Slack's own limit
	reserve       = 700 // for the end of a message
)

// layout is the content of one message. It accepts what fits its budget.
type layout struct {
	blocks     []slack.Block
	characters int
	heading    string              // of the list
	list       *slack.RichTextList // that lines are added to; nil: the layout does not end with a list
	covers     []notify.Covered
}

// add appends blocks if they fit.
func (l *layout) add(blocks ...slack.Block) bool {
	cost := 0
	for _, b := range blocks {
		cost += blockCost + length(b)
	}
	if !l.fits(cost, len(blocks)) {
		return false
	}
	l.put(cost, blocks...)
	return true
}

// end appends a block within the reserve.
func (l *layout) end(b slack.Block) { l.put(blockCost+length(b), b) }

func (l *layout) put(cost int, blocks ...slack.Block) {
	l.list, l.heading = nil, ""
	l.characters += cost
	l.blocks = append(l.blocks, blocks...)
}

func (l *layout) fits(characters, blocks int) bool {
	return l.characters+characters <= maxCharacters-reserve && len(l.blocks)+blocks <= maxBlocks-2
}

// addLine appends a line to the list under a heading if it fits. It starts a list
// unless the layout ends with that one.
func (l *layout) addLine(heading string, text line) bool {
	if l.list != nil && l.heading == heading {
		if !l.fits(text.length(), 0) {
			return false
		}
		l.characters += text.length()
		l.list.Elements = append(l.list.Elements, text.section())
		return true
	}
	list := slack.NewRichTextList(slack.RTEListBullet, 0, text.section())
	block := slack.NewRichTextBlock("", list)
	if heading != "" {
		block = slack.NewRichTextBlock("", line{bold(heading)}.section(), list)
	}
	if !l.add(block) {
		return false
	}
	l.list, l.heading = list, heading
	return true
}

// cover records that the message covers an item, and the event that is pending next.
func (l *layout) cover(i notify.Item, next audit.Event) {
	l.covers = append(l.covers, notify.Covered{ID: i.Record.ID, Event: i.Event, Next: next})
}

// length returns the number of characters that a block shows.
func length(b slack.Block) int { return utf8.RuneCountInString(readable(b)) }

// fill adds items until one does not fit, and returns how many did.
func fill(items []notify.Item, add func(notify.Item) bool) int {
	for n, i := range items {
		if !add(i) {
			return n
		}
	}
	return len(items)
}

// inTurns orders a list that is to be cut: the first of each culprit, then the second of
// each, and so on. Otherwise whoever causes many findings could push out those that others
// have caused.
func inTurns[T any](list []T, culprit func(T) string) []T {
	n := map[string]int{}
	var turns [][]T
	for _, e := range list {
		c := culprit(e)
		if n[c] == len(turns) {
			turns = append(turns, nil)
		}
		turns[n[c]] = append(turns[n[c]], e)
		n[c]++
	}
	return slices.Concat(turns...)
}

// list adds the first lines of a list, and says how many findings are left and where.
func (p *planner) list(l *layout, heading string, entries []entry, most int, where string) {
	left := 0
	full := false
	length := 0
	for _, e := range entries {
		length += e.line.length()
	}
	if len(entries) > most || !l.fits(length, 1) {
		entries = inTurns(entries, func(e entry) string { return e.items[0].Record.Culprit })
	}
	for n, e := range entries {
		full = full || n == most || !l.addLine(heading, e.line)
		if full {
			left += len(e.items)
		}
	}
	p.addMore(l, left, where)
}

// planner builds the messages of a digest.
type planner struct {
	notify.Digest
	plan    []notify.Message
	threads bool // messages can be replied to and updated
}

var channelID = regexp.MustCompile(`^[CGD][A-Z0-9]{2,}$`)

// canReply reports whether a message can be replied to: it must be in the channel that
// the digest goes to, since another channel may belong to other people by now. A channel
// name is trusted to mean the same channel as before, except for the fallback owner.
func (p *planner) canReply(at audit.MessageRef) bool {
	switch {
	case !p.threads || at.Message == "":
		return false
	case channelID.MatchString(p.To.Address):
		return at.Channel == p.To.Address
	}
	return p.FallbackReason == ""
}

// add adds a message to the plan and returns its index.
func (p *planner) add(l *layout, m notify.Message, b body) int {
	b.blocks = l.blocks
	m.Covers, m.Body, m.Text = l.covers, b, readable(b.blocks...)
	p.plan = append(p.plan, m)
	return len(p.plan) - 1
}

// topLevel returns a message that is not a reply.
func topLevel() notify.Message { return notify.Message{Parent: notify.NoParent} }

// replyTo returns a reply to an earlier message if that is possible.
func (p *planner) replyTo(at audit.MessageRef) notify.Message {
	m := topLevel()
	if p.canReply(at) {
		m.Thread = at
	}
	return m
}

// begin starts a message with a header, the counts, and the mention of the recipient.
func (p *planner) begin(title, counts string, mention bool) *layout {
	l := &layout{}
	l.add(header(title + p.onCluster()))
	if mention && p.To.Mention != "" {
		counts = p.To.Mention + " " + counts
	}
	l.add(markup(counts))
	p.explainFallback(l)
	return l
}

// explainFallback says why the fallback owner is notified.
func (p *planner) explainFallback(l *layout) {
	if p.FallbackReason != "" {
		l.add(paragraphs(line{words("You are notified instead of "), prose(p.FallbackReason, maxProse)}))
	}
}

// addMore says how many findings did not fit, and where they are.
func (p *planner) addMore(l *layout, n int, where string) {
	if n > 0 {
		l.end(small(fmt.Sprintf("… and %d more: %s.", n, where)))
	}
}

const seeThread = "see the thread"

func (p *planner) listCommand() string { return "run kubectl get findings -n " + p.Namespace }

// footer says how many findings are open, unless the recipient is not the owner.
func (p *planner) footer(l *layout) {
	switch {
	case p.FallbackReason != "":
	case p.Open == 0:
		l.end(small("No open findings for " + p.To.Owner + "."))
	default:
		l.end(small(rules.Count(p.Open, "open finding") + " for " + p.To.Owner + "."))
	}
}

// onCluster names the cluster, if it has a name.
func (p *planner) onCluster() string {
	if p.Cluster == "" {
		return ""
	}
	return " on " + p.Cluster
}

// summary is what a notification shows: the title and the first finding.
func (p *planner) summary(title string, items []notify.Item) string {
	s := title
	if p.Cluster != "" {
		s += " on " + codeSpan(p.Cluster, maxLineName)
	}
	if len(items) > 0 {
		s += ": " + codeSpan(items[0].Record.Subject.String(), maxLineName)
	}
	if len(items) > 1 {
		s += " and others"
	}
	return s
}
