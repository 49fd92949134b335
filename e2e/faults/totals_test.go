package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// totals are what all runs come to.
type totals struct {
	runs, requests, disturbed  int
	sweeps, complete           int // of the sweeps with faults
	incomplete, failed         int // that say so, and that ended with an error
	unwritten, undelivered     int
	clean                      int
	opened, reopened, resolved int
	messages, unanswered       int // that Slack has; of them those without an answer
	notifications, duplicates  int // things told, and of them those told before
	faults                     map[string]int
}

func (n *totals) add(s *stage, h *history) {
	n.runs++
	n.requests += s.script.Requests() + len(s.board.server.Requests())
	for _, f := range s.script.Applied() {
		n.faults["API server: "+kindOf(f)]++
		n.disturbed++
	}
	for _, f := range s.slack.Done() {
		n.faults["Slack: "+slackKind(f)]++
		n.disturbed++
	}
	for _, w := range h.sweeps {
		n.addSweep(w)
	}
	n.addTold(h)
}

func (n *totals) addSweep(w *swept) {
	for id, is := range w.after {
		was := w.before[id]
		switch {
		case is.State == was.State:
		case is.State == audit.StateOpen && was.State == audit.StateResolved:
			n.reopened++
		case is.State == audit.StateOpen:
			n.opened++
		case is.State == audit.StateResolved:
			n.resolved++
		}
	}
	if w.clean {
		n.clean++
		return
	}
	n.sweeps++
	switch {
	case w.err != nil:
		n.failed++
		return
	case w.reportsComplete():
		n.complete++
	default:
		n.incomplete++
	}
	n.unwritten += len(w.published.Failed)
	n.undelivered += len(audit.Undelivered(w.published.Deliveries))
}

func (n *totals) addTold(h *history) {
	type once struct {
		owner, id string
		event     audit.Event
		life      int
	}
	seen := map[once]bool{}
	for _, m := range h.board.messages() {
		for _, try := range m.tries {
			if !try.stored {
				continue
			}
			n.messages++
			if !try.answered {
				n.unanswered++
			}
			for _, c := range m.covers {
				key := once{m.owner, c.ID, c.Event, m.items[c.ID].Record.Reopened}
				n.notifications++
				if seen[key] {
					n.duplicates++
				}
				seen[key] = true
			}
		}
	}
}

// kindOf names a fault without what differs from one to the next.
func kindOf(f kubetest.Fault) string {
	if f.Kind == kubetest.Refused || f.Kind == kubetest.Blocked {
		return f.String()
	}
	return string(f.Kind)
}

// slackKind names a fault of Slack.
func slackKind(f fakeslack.Fault) string {
	var words []string
	add := func(is bool, word string) {
		if is {
			words = append(words, word)
		}
	}
	add(f.Stored, "stored, then")
	add(f.Cut, "cut")
	add(f.Hang, "hang")
	add(f.Status != 0, fmt.Sprintf("status %d", f.Status))
	add(f.Error != "", f.Error)
	return strings.Join(words, " ")
}

// String is a table for people.
func (n *totals) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	line := func(what string, count int) { fmt.Fprintf(w, "| %s\t| %d\t|\n", what, count) }
	fmt.Fprint(w, "| what\t| how many\t|\n|---\t|---:\t|\n")
	line("runs", n.runs)
	line("requests", n.requests)
	line("of these, disturbed", n.disturbed)
	line("sweeps with faults", n.sweeps)
	line("of these, complete", n.complete)
	line("of these, incomplete and said so", n.incomplete)
	line("of these, not published and said so", n.failed)
	line("findings that could not be written", n.unwritten)
	line("digests that could not be delivered", n.undelivered)
	line("clean sweeps after them", n.clean)
	line("findings opened", n.opened)
	line("findings opened again", n.reopened)
	line("findings resolved", n.resolved)
	line("messages that Slack has", n.messages)
	line("of these, without an answer that came through", n.unanswered)
	line("things told by them", n.notifications)
	line("of these, told before", n.duplicates)
	for _, name := range slices.Sorted(maps.Keys(n.faults)) {
		line(name, n.faults[name])
	}
	w.Flush()
	return text.String()
}
