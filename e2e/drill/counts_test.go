package drill

import (
	"testing"
)

// counts is what a set-up cost, and what came of it.
type counts struct {
	attempted int // writes of findings that reached the API server
	persisted int // of them that changed something
	conflicts int // 409 Conflict
	existed   int // 409 AlreadyExists
	opened    int // findings created more than once
	flapped   int // findings whose state went from A to B and back in one round
	wavered   int // the same of all that a finding says
	told      int // what owners are told, each of them
	toldTwice int
	messages  int // that Slack holds
	believed  int // what the results of the sweeps say is new

	leaseWrites int
}

func count(t *testing.T, log *trail, seen *sight, told *deliveries) counts {
	t.Helper()
	var n counts
	for _, user := range []string{swift, slow} {
		for _, e := range log.attempts(t, user) {
			switch {
			case e.is("leases"):
				n.leaseWrites++
				continue
			case !e.is("findings"):
				continue
			}
			n.attempted++
			switch e.ResponseStatus.Reason {
			case "Conflict":
				n.conflicts++
			case "AlreadyExists":
				n.existed++
			}
		}
	}
	n.told, n.toldTwice = told.count()
	n.messages, n.believed = len(told.messages()), told.believed
	told.check(t)
	seen.count(&n)
	return n
}
