package faults

import (
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// tells: what is still to be told after a sweep that says that it stored all, it says
// was not delivered. One that was lied to about the findings does not know.
func (s *swept) tells(t *testing.T) {
	t.Helper()
	if s.err != nil || s.lied || len(s.published.Failed) > 0 {
		return
	}
	undelivered := audit.Undelivered(s.published.Deliveries)
	for _, id := range sortedIDs(maps.Keys(s.after)) {
		for _, m := range s.after[id].Notifications {
			said := slices.ContainsFunc(undelivered, func(d audit.Delivery) bool { return d.Owner == m.Owner || d.Owner == platform })
			if m.Pending != "" && !said {
				t.Errorf("sweep %d: %s is still to be told %s of %s, and no delivery failed: %+v", s.act, m.Owner, m.Pending, id, s.published.Deliveries)
			}
		}
	}
}

// wronglyMarked: that an owner was told something is stored only once Slack has it.
func (h *history) wronglyMarked(t *testing.T, s *swept, was, is audit.Stored) {
	t.Helper()
	for _, m := range is.Notifications {
		if m.Last == "" || m.At.Equal(was.Notification(m.Sender, m.Owner).At) {
			continue
		}
		if len(h.tellings(is.ID, m.Owner, s.act)) == 0 {
			t.Errorf("sweep %d: it is stored that %s was told %s of %s, which Slack does not have", s.act, m.Owner, m.Last, is.ID)
		}
	}
}

// told is a thing that Slack has, as it was told to an owner or in place of them.
type told struct {
	act      int
	event    audit.Event
	life     int // how often the finding had come back
	answered bool
}

// tellings returns what Slack has of a finding for an owner, in order: of one sweep,
// or with -1 of all.
func (h *history) tellings(id, owner string, act int) []told {
	var out []told
	for _, m := range h.board.messages() {
		if !slices.Contains(m.items[id].Owners, owner) || act >= 0 && m.act != act {
			continue
		}
		for _, c := range m.covers {
			if c.ID != id {
				continue
			}
			for _, try := range m.tries {
				if try.stored {
					out = append(out, told{m.act, c.Event, m.items[id].Record.Reopened, try.answered})
				}
			}
		}
	}
	return out
}

// finish holds the end of a run against that of an undisturbed one, and all that was
// told against what happened.
func (h *history) finish(t *testing.T) {
	t.Helper()
	last := h.sweeps[len(h.sweeps)-1]
	for _, id := range sortedIDs(maps.Keys(last.after), maps.Keys(last.truths[0])) {
		is := last.after[id]
		_, there := last.truths[0][id]
		if there != (is.State == audit.StateOpen) {
			t.Errorf("at the end %s is violated: %t, and it is %q", id, there, is.State)
		}
		owners := map[string]bool{}
		for _, m := range is.Notifications {
			owners[m.Owner] = true
			h.lost(t, is, m)
			h.doubled(t, id, m.Owner)
		}
		for _, owner := range is.Owners {
			if is.State == audit.StateOpen && !owners[owner] {
				t.Errorf("at the end %s is open and nobody told %s", id, owner)
			}
		}
	}
}

// lost: at the end every owner was told of what is open, and of what is not any more
// that it is over.
func (h *history) lost(t *testing.T, is audit.Stored, m audit.Notification) {
	t.Helper()
	if m.Pending != "" || m.Claim.By != "" {
		t.Errorf("at the end %s is to be told %q of %s, taken by %q", m.Owner, m.Pending, is.ID, m.Claim.By)
	}
	opening, details, end := -1, -1, -1
	all := h.tellings(is.ID, m.Owner, -1)
	for i, what := range all {
		switch what.event {
		case audit.EventOpened, audit.EventReopened:
			opening = i
		case audit.EventDetails, audit.EventChanged: // which tells all of it, too
			details = i
		case audit.EventResolved:
			end = i
		}
	}
	switch {
	case is.State == audit.StateOpen && opening < 0, is.State == audit.StateOpen && end > opening && !changedAfter(all, end):
		t.Errorf("at the end %s is open, and Slack has for %s: %+v", is.ID, m.Owner, all)
	case is.State == audit.StateOpen && details < opening:
		t.Errorf("at the end %s is open, and Slack has no details for %s: %+v", is.ID, m.Owner, all)
	case is.State == audit.StateResolved && opening >= 0 && end < opening:
		t.Errorf("at the end %s is over, and Slack has for %s: %+v", is.ID, m.Owner, all)
	}
}

// changedAfter reports whether an owner who was told of the end, without an answer
// that the end came through, was told of the finding afterwards.
func changedAfter(all []told, end int) bool {
	return !all[end].answered && slices.ContainsFunc(all[end:], func(w told) bool { return w.event == audit.EventChanged })
}

// doubled: nothing is told twice of one life of a finding, but where the answer to
// the first time got lost, or it could not be stored that it had come and the sweep
// said so. That a finding changed may be news each time that the world turned.
func (h *history) doubled(t *testing.T, id, owner string) {
	t.Helper()
	type once struct {
		event audit.Event
		life  int
	}
	first := map[once]told{}
	for _, what := range h.tellings(id, owner, -1) {
		key := once{what.event, what.life}
		switch what.event {
		case audit.EventReleased:
			// Whoever owns it again hears of it as of a new one.
			maps.DeleteFunc(first, func(k once, _ told) bool { return k.event != audit.EventReleased })
		case audit.EventOpened, audit.EventReopened:
			delete(first, once{audit.EventReleased, what.life})
		}
		was, twice := first[key]
		first[key] = what
		if !twice || !was.answered || h.unsaid(was.act, owner) {
			continue
		}
		if what.event == audit.EventChanged && what.act > was.act && (h.turned(was.act, what.act) || h.differs(id, was.act, what.act)) {
			continue
		}
		t.Errorf("sweep %d: %s was told %s of %s again, as in sweep %d, which had an answer", what.act, owner, what.event, id, was.act)
	}
}

// unsaid reports whether a sweep said that something could not be delivered to an
// owner, or stored.
func (h *history) unsaid(act int, owner string) bool {
	s := h.sweeps[act]
	return s.err != nil || slices.ContainsFunc(audit.Undelivered(s.published.Deliveries), func(d audit.Delivery) bool {
		return d.Owner == owner || d.Owner == platform
	})
}

// turned reports whether the world was another one in between.
func (h *history) turned(from, to int) bool {
	acts := h.plan.Acts
	for n := from; n < min(to, len(acts)); n++ {
		if acts[n].Turn != nil || n+1 < len(acts) && acts[n].World != acts[n+1].World {
			return true
		}
	}
	return false
}

// differs reports whether a finding rests on other objects after one sweep than after
// an earlier one, as it may where the world did not turn between: a sweep that cannot
// see all of it tells of the change that one before had seen.
func (h *history) differs(id string, from, to int) bool {
	objects := func(n int) []rules.Object { return h.sweeps[n].after[id].Objects }
	return !slices.Equal(objects(from), objects(to))
}

// sortedIDs returns all of some keys once, sorted.
func sortedIDs(all ...iter.Seq[string]) []string {
	var ids []string
	for _, some := range all {
		ids = slices.AppendSeq(ids, some)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
