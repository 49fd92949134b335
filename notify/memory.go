package notify

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/eventuallytrue/audit/audit"
)

// Memory is what a process knows from one delivery to the next and can't read from the
// store: since when it has seen the claims of others, and which messages were accepted
// but could not be recorded. A process that sweeps more than once passes the same Memory
// to each Deliverer. Several goroutines may use it.
type Memory struct {
	mu         sync.Mutex
	claims     map[notificationKey]seenClaim
	unrecorded map[notificationKey]accepted
}

type notificationKey struct{ id, sender, owner string }

type seenClaim struct {
	claim audit.Claim
	since time.Time
}

// accepted is an event that a receiver has accepted.
type accepted struct {
	event, next  audit.Event
	claim        audit.Claim
	at           time.Time
	refused      string
	message      audit.MessageRef
	startsThread bool
}

// record records the event in a notification, unless the claim was lost.
func (a accepted) record(n *audit.Notification) bool {
	if !n.Sent(a.event, a.next, a.claim, a.at, a.refused) {
		return false
	}
	if a.startsThread {
		n.Message = a.message
	}
	return true
}

// seen returns for how long the process has seen a notification claimed as it is.
func (m *Memory) seen(k notificationKey, claim audit.Claim, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if was, ok := m.claims[k]; ok && was.claim.Is(claim) {
		return now.Sub(was.since)
	}
	if m.claims == nil {
		m.claims = map[notificationKey]seenClaim{}
	}
	m.claims[k] = seenClaim{claim, now}
	return 0
}

// watch starts to watch the claims in the store, and forgets those that are gone.
func (m *Memory) watch(stored []audit.Stored, now time.Time) {
	there := map[notificationKey]bool{}
	for i := range stored {
		for _, n := range stored[i].Notifications {
			if n.Claim.By != "" {
				k := notificationKey{stored[i].ID, n.Sender, n.Owner}
				there[k] = true
				m.seen(k, n.Claim, now)
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.claims, func(k notificationKey, _ seenClaim) bool { return !there[k] })
	maps.DeleteFunc(m.unrecorded, func(k notificationKey, _ accepted) bool { return !there[k] })
}

// remember keeps what could not be recorded.
func (m *Memory) remember(k notificationKey, a accepted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unrecorded == nil {
		m.unrecorded = map[notificationKey]accepted{}
	}
	m.unrecorded[k] = a
}

// take returns what could not be recorded, and forgets it.
func (m *Memory) take(k notificationKey) (accepted, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.unrecorded[k]
	delete(m.unrecorded, k)
	return a, ok
}

// recordAccepted records what an earlier delivery could not, so that it is not sent
// again, and returns what is stored then.
func (m *Memory) recordAccepted(ctx context.Context, store audit.Store, stored []audit.Stored) []audit.Stored {
	out := slices.Clone(stored)
	for i := range out {
		next, left := out[i], map[notificationKey]accepted{}
		for _, n := range out[i].Notifications {
			k := notificationKey{out[i].ID, n.Sender, n.Owner}
			if a, ok := m.take(k); ok && a.record(&n) {
				next.SetNotification(n)
				left[k] = a
			}
		}
		if len(left) == 0 {
			continue
		}
		now, err := store.Update(ctx, next)
		if err == nil {
			out[i] = now
			continue
		}
		// It is known all the same, and stored with the next change of the finding.
		out[i].Record = next.Record
		for k, a := range left {
			m.remember(k, a)
		}
	}
	return out
}
