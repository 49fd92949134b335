package audit

import (
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Previous is what an earlier sweep of the same cluster tells: since when its
// findings are known, and what it saw of each namespace. The zero value tells
// nothing.
type Previous struct {
	At        time.Time
	FirstSeen map[string]time.Time       // by the ID of a finding
	Isolation map[string]rules.Isolation // by namespace
}

// firstSeen returns since when a finding is known.
func (p *Previous) firstSeen(id string, now time.Time) time.Time {
	if seen, ok := p.FirstSeen[id]; ok && seen.Before(now) {
		return seen
	}
	return now
}

// before says what the earlier sweep saw of a namespace and a direction.
func (p *Previous) before(namespace string, d snapshot.Direction) rules.Previous {
	row, ok := p.Isolation[namespace]
	if !ok || len(row.NotEvaluated) > 0 {
		return rules.Previous{}
	}
	if d == snapshot.DirectionEgress {
		return rules.Previous{State: row.Egress, At: p.At}
	}
	return rules.Previous{State: row.Ingress, At: p.At}
}
