package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/slack/fakeslack"
)

// totals are the counts of all runs.
type totals struct {
	mu sync.Mutex

	runs, requests, disturbed  int
	sweeps, complete           int // sweeps with faults, and those that were complete
	incomplete, failed         int // reported as incomplete, and ended with an error
	unwritten, undelivered     int
	clean                      int
	opened, reopened, resolved int
	messages, unanswered       int // in Slack, and those without a response
	notifications, duplicates  int // in messages, and those sent before
	faults                     map[string]int
}

func (n *totals) add(s *stage, h *history) {
	n.mu.Lock()
	defer n.mu.Unlock()
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

// log logs the counts of all runs.
func (n *totals) log(t *testing.T, broken, seeds uint64, took time.Duration) {
	t.Helper()
	t.Logf("%d of %d runs broke a law; %.1f runs a second\n%s", broken, seeds, float64(seeds)/took.Seconds(), n)
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

// kindOf returns the kind of a fault, with the status but without other parameters.
func kindOf(f kubetest.Fault) string {
	if f.Kind == kubetest.Refused || f.Kind == kubetest.Blocked {
		return f.String()
	}
	return string(f.Kind)
}

// slackKind describes a fault of Slack.
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

// String returns the counts as a Markdown table.
func (n *totals) String() string {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 1, ' ', 0)
	line := func(what string, count int) { fmt.Fprintf(w, "| %s\t| %d\t|\n", what, count) }
	fmt.Fprint(w, "| what\t| count\t|\n|---\t|---:\t|\n")
	line("runs", n.runs)
	line("requests", n.requests)
	line("of these, disturbed", n.disturbed)
	line("sweeps with faults", n.sweeps)
	line("of these, complete", n.complete)
	line("of these, reported as incomplete", n.incomplete)
	line("of these, ended with an error", n.failed)
	line("findings not written", n.unwritten)
	line("digests not delivered", n.undelivered)
	line("clean sweeps afterwards", n.clean)
	line("findings opened", n.opened)
	line("findings reopened", n.reopened)
	line("findings resolved", n.resolved)
	line("messages in Slack", n.messages)
	line("of these, without a response", n.unanswered)
	line("notifications in messages", n.notifications)
	line("of these, duplicates", n.duplicates)
	for _, name := range slices.Sorted(maps.Keys(n.faults)) {
		line(name, n.faults[name])
	}
	w.Flush()
	return text.String()
}
