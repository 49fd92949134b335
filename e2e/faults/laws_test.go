package faults

import (
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
)

// history is what a run has come to, held against the laws sweep by sweep.
type history struct {
	plan   *plan
	board  *workspace
	sweeps []*swept
}

// add holds one more sweep against the laws.
func (h *history) add(t *testing.T, s *swept) {
	t.Helper()
	h.sweeps = append(h.sweeps, s)
	for _, id := range sortedIDs(maps.Keys(s.before), maps.Keys(s.after)) {
		was, is := s.before[id], s.after[id]
		s.wronglyEnded(t, id, was, is)
		s.wronglyOpened(t, id, was, is)
		h.wronglyRecorded(t, s, was, is)
	}
	s.honest(t)
	s.reportsPending(t)
	if s.clean {
		s.undisturbed(t)
	}
}

// wronglyEnded: a finding is resolved, or one that waits taken back, only where its
// violation was not there at some moment of the sweep.
//
// A sweep that was told of an earlier world looks again at the objects that the
// finding names before it ends it. Of what else took part in the violation since
// then it cannot know, where the list that would tell was an old one: such a finding
// is opened again by the next sweep. So there the law is that a violation of the
// objects that the finding names is not resolved.
func (s *swept) wronglyEnded(t *testing.T, id string, was, is audit.Stored) {
	t.Helper()
	there := was.State == audit.StateOpen || was.State == audit.StatePending
	if !there || is.State == audit.StateOpen || is.State == audit.StatePending {
		return
	}
	for _, at := range s.truths {
		f, violated := at[id]
		if !violated || s.misled && was.Subject.Kind == rules.SubjectHost && shared(was.Objects, f.Objects) < 2 {
			return
		}
	}
	t.Errorf("sweep %d: %s was %s and became %q although its violation was there all the time", s.act, id, was.State, is.State)
}

func shared(a, b []rules.Object) int {
	n := 0
	for _, o := range a {
		if slices.ContainsFunc(b, func(p rules.Object) bool { return p.Ref == o.Ref }) {
			n++
		}
	}
	return n
}

// wronglyOpened: what is opened, or waits to be, a clean sweep of a world that there
// was during the sweep finds too; and, but after lists of an earlier world, in the
// same words.
func (s *swept) wronglyOpened(t *testing.T, id string, was, is audit.Stored) {
	t.Helper()
	if is.State != audit.StateOpen && is.State != audit.StatePending {
		return
	}
	opened := was.State != is.State
	var diffs []string
	for _, at := range s.truths {
		f, violated := at[id]
		if !violated {
			continue
		}
		want, got := content(f), content(is.Finding)
		if !s.reportsComplete() {
			// What a cause is told from may be what could not be read.
			want.Cause, got.Cause = "", ""
		}
		diff := cmp.Diff(want, got)
		if diff == "" || s.misled {
			return
		}
		diffs = append(diffs, diff)
	}
	switch {
	case opened && len(diffs) == 0:
		t.Errorf("sweep %d: %s is %s and was never violated", s.act, id, is.State)
	case len(s.truths) > 1, cmp.Equal(content(was.Finding), content(is.Finding)):
	default:
		t.Errorf("sweep %d: %s is in words of no world (-clean sweep +stored): %s", s.act, id, diffs)
	}
}

// words is what a finding says, without its life.
func content(f audit.Finding) audit.Finding {
	return audit.Finding{
		Rule: f.Rule, Severity: f.Severity, Verdict: f.Verdict, Owners: f.Owners, Message: f.Message, Cause: f.Cause,
		Remedy: f.Remedy, MoreObjects: f.MoreObjects, Objects: atUTC(f.Objects),
	}
}

func atUTC(objects []rules.Object) []rules.Object {
	out := slices.Clone(objects)
	for i := range out {
		out[i].Created = out[i].Created.UTC()
	}
	return out
}

// wholeTruth reports whether a sweep says that it read, stored and told all.
func (s *swept) reportsComplete() bool {
	return s.err == nil && s.res.Complete() && len(s.published.Failed) == 0
}

// honest: a sweep that says that it was complete reports what a clean one finds, and
// what it says of the findings is what is stored.
func (s *swept) honest(t *testing.T) {
	t.Helper()
	if !s.reportsComplete() || s.misled || len(s.truths) > 1 {
		return
	}
	found := truth{}
	for _, f := range s.res.Findings {
		found[f.ID] = f
	}
	for _, id := range sortedIDs(maps.Keys(s.truths[0]), maps.Keys(found)) {
		want, there := s.truths[0][id]
		got, reported := found[id]
		switch {
		case there != reported:
			t.Errorf("sweep %d says that it is complete: %s is there: %t, reported: %t", s.act, id, there, reported)
		case !cmp.Equal(content(want), content(got)):
			t.Errorf("sweep %d says that it is complete and of %s (-clean sweep +reported):\n%s", s.act, id, cmp.Diff(content(want), content(got)))
		}
	}
	for _, tr := range s.published.Transitions {
		if is := s.after[tr.Record.ID]; !tr.Delete && is.State != tr.Record.State || tr.Delete && is.Version != "" {
			t.Errorf("sweep %d says that %s is %s, and it is %q", s.act, tr.Record.ID, tr.Record.State, is.State)
		}
	}
}

// undisturbed: a sweep without faults ends well, whatever went before it, and leaves
// nothing half done.
func (s *swept) undisturbed(t *testing.T) {
	t.Helper()
	if !s.reportsComplete() || s.unreleased || len(audit.Undelivered(s.published.Deliveries)) > 0 {
		t.Errorf("sweep %d is clean and not complete: %v, %+v", s.act, s.err, s.published)
		return
	}
	for _, id := range sortedIDs(maps.Keys(s.truths[0])) {
		if diff := cmp.Diff(content(s.truths[0][id]), content(s.after[id].Finding)); diff != "" {
			t.Errorf("sweep %d is clean and left %s (-of a clean sweep alone +stored):\n%s", s.act, id, diff)
		}
	}
	for _, id := range sortedIDs(maps.Keys(s.after)) {
		if is := s.after[id]; is.Incomplete || is.Stale {
			t.Errorf("sweep %d left %s bare: %t, with labels of another state: %t", s.act, id, is.Incomplete, is.Stale)
		}
	}
}

// tells: what is still to be told after a sweep that says that it stored all, it says
// was not delivered. One that was lied to about the findings does not know.
func (s *swept) reportsPending(t *testing.T) {
	t.Helper()
	if s.err != nil || s.misled || len(s.published.Failed) > 0 {
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
func (h *history) wronglyRecorded(t *testing.T, s *swept, was, is audit.Stored) {
	t.Helper()
	for _, m := range is.Notifications {
		if m.Last == "" || m.At.Equal(was.Notification(m.Sender, m.Owner).At) {
			continue
		}
		if len(h.notificationsOf(is.ID, m.Owner, s.act)) == 0 {
			t.Errorf("sweep %d: it is stored that %s was told %s of %s, which Slack does not have", s.act, m.Owner, m.Last, is.ID)
		}
	}
}

// told is a thing that Slack has, as it was told to an owner or in place of them.
type notification struct {
	act      int
	event    audit.Event
	life     int // how often the finding had come back
	answered bool
}

// tellings returns what Slack has of a finding for an owner, in order: of one sweep,
// or with -1 of all.
func (h *history) notificationsOf(id, owner string, act int) []notification {
	var out []notification
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
					out = append(out, notification{m.act, c.Event, m.items[id].Record.Reopened, try.answered})
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
			h.sentTwice(t, id, m.Owner)
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
	all := h.notificationsOf(is.ID, m.Owner, -1)
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
func changedAfter(all []notification, end int) bool {
	return !all[end].answered && slices.ContainsFunc(all[end:], func(w notification) bool { return w.event == audit.EventChanged })
}

// doubled: nothing is told twice of one life of a finding, but where the answer to
// the first time got lost, or it could not be stored that it had come and the sweep
// said so. That a finding changed may be news each time that the world turned.
func (h *history) sentTwice(t *testing.T, id, owner string) {
	t.Helper()
	type once struct {
		event audit.Event
		life  int
	}
	first := map[once]notification{}
	for _, what := range h.notificationsOf(id, owner, -1) {
		key := once{what.event, what.life}
		switch what.event {
		case audit.EventReleased:
			// Whoever owns it again hears of it as of a new one.
			maps.DeleteFunc(first, func(k once, _ notification) bool { return k.event != audit.EventReleased })
		case audit.EventOpened, audit.EventReopened:
			delete(first, once{audit.EventReleased, what.life})
		}
		was, twice := first[key]
		first[key] = what
		if !twice || !was.answered || h.reportedUndelivered(was.act, owner) {
			continue
		}
		if what.event == audit.EventChanged && what.act > was.act && (h.worldChanged(was.act, what.act) || h.differs(id, was.act, what.act)) {
			continue
		}
		t.Errorf("sweep %d: %s was told %s of %s again, as in sweep %d, which had an answer", what.act, owner, what.event, id, was.act)
	}
}

// unsaid reports whether a sweep said that something could not be delivered to an
// owner, or stored.
func (h *history) reportedUndelivered(act int, owner string) bool {
	s := h.sweeps[act]
	return s.err != nil || slices.ContainsFunc(audit.Undelivered(s.published.Deliveries), func(d audit.Delivery) bool {
		return d.Owner == owner || d.Owner == platform
	})
}

// turned reports whether the world was another one in between.
func (h *history) worldChanged(from, to int) bool {
	acts := h.plan.Acts
	for n := from; n < min(to, len(acts)); n++ {
		if acts[n].Change != nil || n+1 < len(acts) && acts[n].World != acts[n+1].World {
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
