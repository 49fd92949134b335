package slack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/notify"
)

// plan returns the messages of a digest: first what needs action, then the replies,
// last the updates of older messages.
func plan(d notify.Digest, threads bool) []notify.Message {
	p := &planner{Digest: d, threads: threads}
	var opened, storm, details, unthreaded, reminders []notify.Item
	changed := map[audit.MessageRef][]notify.Item{} // by the message that announced them
	for _, i := range d.Items {
		switch isNew := i.Event == audit.EventOpened || i.Event == audit.EventReopened; {
		case isNew && i.Record.Storm:
			storm = append(storm, i)
		case isNew:
			opened = append(opened, i)
		case i.Event == audit.EventDetails:
			details = append(details, i)
		case i.Event == audit.EventReminder:
			reminders = append(reminders, i)
		case p.canReply(i.Message):
			changed[i.Message] = append(changed[i.Message], i)
		default:
			unthreaded = append(unthreaded, i)
		}
	}
	p.opening(opened)
	p.storm(storm)
	announcements := slices.SortedFunc(maps.Keys(changed), func(a, b audit.MessageRef) int {
		return cmp.Or(strings.Compare(a.Channel, b.Channel), strings.Compare(a.Message, b.Message))
	})
	for _, at := range announcements {
		p.changes(changed[at], at)
	}
	p.changes(unthreaded, audit.MessageRef{})
	p.reminder(reminders)
	p.remainingDetails(details)
	for _, at := range announcements {
		p.update(at)
	}
	return p.plan
}
