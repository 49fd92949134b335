package slack

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// body is a message as Send needs it.
type body struct {
	// update is the message that this is a newer version of, zero where it is one
	// of its own.
	update audit.MessageRef
	// broadcast shows a reply in the channel as well.
	broadcast bool
	text      string // for notifications, and where blocks are not shown
	blocks    []slack.Block
}

// planner makes the messages of a digest.
type planner struct {
	notify.Digest
	plan []notify.Message
	// threads is true where a message can be replied to and brought up to date.
	threads bool
}

// plan makes the messages of a digest: first what calls for action, then what goes
// beneath it, last what only brings older messages up to date.
func plan(d notify.Digest, threads bool) []notify.Message {
	p := &planner{Digest: d, threads: threads}
	var opened, storm, told, elsewhere, reminders []notify.Item
	places := map[audit.MessageRef][]notify.Item{} // that something changed of
	for _, i := range d.Items {
		switch isNew := i.Event == audit.EventOpened || i.Event == audit.EventReopened; {
		case isNew && i.Record.Storm:
			storm = append(storm, i)
		case isNew:
			opened = append(opened, i)
		case i.Event == audit.EventDetails:
			told = append(told, i)
		case i.Event == audit.EventReminder:
			reminders = append(reminders, i)
		case p.here(i.Message):
			places[i.Message] = append(places[i.Message], i)
		default:
			elsewhere = append(elsewhere, i)
		}
	}
	p.opening(opened)
	p.storm(storm)
	sorted := slices.SortedFunc(maps.Keys(places), comparePlaces)
	for _, place := range sorted {
		p.changes(places[place], place)
	}
	p.changes(elsewhere, audit.MessageRef{})
	p.reminder(reminders)
	p.leftDetails(told)
	for _, place := range sorted {
		p.refresh(place)
	}
	return p.plan
}

// here reports whether a place is one that can be replied to, in the channel that
// the digest goes to: another one was somebody else's, or is no longer theirs. A
// channel that is named and not identified is taken for the one that it was, but
// for those who are told in place of others.
func (p *planner) here(at audit.MessageRef) bool {
	switch {
	case !p.threads || at.Message == "":
		return false
	case channelID.MatchString(p.To.Address):
		return at.Channel == p.To.Address
	}
	return p.FallbackReason == ""
}

var channelID = regexp.MustCompile(`^[CGD][A-Z0-9]{2,}$`)

func comparePlaces(a, b audit.MessageRef) int {
	return cmp.Or(strings.Compare(a.Channel, b.Channel), strings.Compare(a.Message, b.Message))
}

// add adds a message to the plan and returns its index.
func (p *planner) add(pg *page, m notify.Message, b body) int {
	b.blocks = pg.blocks
	m.Covers, m.Body, m.Text = pg.covers, b, readable(b.blocks...)
	p.plan = append(p.plan, m)
	return len(p.plan) - 1
}

// own is a message of its own.
func own() notify.Message { return notify.Message{Parent: notify.NoParent} }

// thread is a message beneath one that was sent earlier, if it can be.
func (p *planner) thread(at audit.MessageRef) notify.Message {
	m := own()
	if p.here(at) {
		m.Thread = at
	}
	return m
}
