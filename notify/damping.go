package notify

import (
	"time"

	"github.com/eventuallytrue/audit/audit"
)

const (
	// dampFor is how long a finding that keeps changing is quiet after a message about it.
	dampFor = time.Hour
	// dampQuiet is for how long a finding must be open, or resolved, before it no longer
	// comes and goes.
	dampQuiet = 30 * time.Minute
	// dampFrom is how often a finding has returned when it is one that comes and goes.
	dampFrom = 2
)

// DampedUntil returns when a pending event may be sent, so that a finding that keeps
// changing does not make a message of each change: the zero time if it may be sent now.
// What is pending then is what the finding is then.
//
// A finding that returns for the second time says so, and then its ends and returns wait
// until it has been the same for a while, or an hour has passed since the last message. A
// change after a change waits for that hour.
func DampedUntil(rec *audit.Record, n *audit.Notification, now time.Time) time.Time {
	hour := n.At.Add(dampFor)
	if n.At.IsZero() || !now.Before(hour) || n.Claim.By != "" {
		return time.Time{}
	}
	switch n.Pending {
	case audit.EventChanged:
		if n.Last == audit.EventChanged {
			return hour
		}
	case audit.EventResolved, audit.EventReopened:
		if !comesAndGoes(rec) || n.Last == "" || rec.Reopened == dampFrom && n.Pending == audit.EventReopened && n.Last == audit.EventResolved {
			return time.Time{}
		}
		quiet := rec.OpenedAt.Add(dampQuiet)
		if rec.State == audit.StateResolved {
			quiet = rec.ResolvedAt.Add(dampQuiet)
		}
		if quiet.After(now) {
			if quiet.Before(hour) {
				return quiet
			}
			return hour
		}
	}
	return time.Time{}
}

// comesAndGoes reports whether a finding has returned so often that its ends and returns
// are damped.
func comesAndGoes(rec *audit.Record) bool { return rec.Reopened >= dampFrom }

// ComesAndGoes reports whether the message about an item must say that further changes
// are damped.
func (it *Item) ComesAndGoes() bool {
	return it.Event == audit.EventReopened && comesAndGoes(&it.Record)
}

// lastAccepted returns when each address last accepted a message, as far as stored.
func lastAccepted(stored []audit.Stored, routes Routes) map[groupKey]time.Time {
	out := map[groupKey]time.Time{}
	for i := range stored {
		for _, n := range stored[i].Notifications {
			if n.Error != "" || n.At.IsZero() {
				continue
			}
			if route, ok := routes.bySender(n.Sender, stored[i].Rule, n.Owner); ok {
				key := groupKey{sender: n.Sender, address: route.To.Address}
				if out[key].Before(n.At) {
					out[key] = n.At
				}
			}
		}
	}
	return out
}
