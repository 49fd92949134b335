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

// history is the sweeps of a run, which are checked against the laws one by one.
type history struct {
	plan   *plan
	board  *workspace
	sweeps []*swept
}

// add adds a sweep and checks the laws.
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

// wronglyEnded: a finding is only resolved, and a pending one only dropped, if its
// violation was absent at some moment of the sweep.
//
// A sweep with stale lists reads the objects that the finding names again before it
// resolves the finding. It can't know of other objects that joined the violation since
// then; the next sweep reopens such a finding. So in this case the law is weaker: a
// violation of the objects that the finding names is not resolved.
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
	t.Errorf("sweep %d: %s was %s and became %q although it was violated throughout", s.act, id, was.State, is.State)
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

// wronglyOpened: a finding that is opened or pending is also found by a clean sweep of a
// world that existed during the sweep and, unless lists were stale, with the same
// content.
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
		want, got := s.content(f), s.content(is.Finding)
		if !s.reportsComplete() {
			// The cause may depend on objects that could not be read.
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
	case len(s.truths) > 1, cmp.Equal(s.content(was.Finding), s.content(is.Finding)):
	default:
		t.Errorf("sweep %d: %s has the content of no world (-clean sweep +stored): %s", s.act, id, diffs)
	}
}

// content returns a finding without its lifecycle.
func (s *swept) content(f audit.Finding) audit.Finding {
	if s.most > 0 {
		f.Owners = nil // some of them are not kept
	}
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

// reportsComplete reports whether a sweep claims to have read, stored and sent everything.
func (s *swept) reportsComplete() bool {
	return s.err == nil && s.res.Complete() && len(s.published.Failed) == 0
}

// honest: a sweep that reports itself as complete has the findings of a clean sweep, and
// reports their stored states.
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
			t.Errorf("sweep %d reports itself as complete: %s is violated: %t, reported: %t", s.act, id, there, reported)
		case !cmp.Equal(s.content(want), s.content(got)):
			t.Errorf("sweep %d reports itself as complete: content of %s (-clean sweep +reported):\n%s", s.act, id, cmp.Diff(s.content(want), s.content(got)))
		}
	}
	for _, tr := range s.published.Transitions {
		if s.rival != nil {
			break // which may have changed what this one stored
		}
		if is := s.after[tr.Record.ID]; !tr.Delete && is.State != tr.Record.State || tr.Delete && is.Version != "" {
			t.Errorf("sweep %d reports %s as %s, but %q is stored", s.act, tr.Record.ID, tr.Record.State, is.State)
		}
	}
}

// undisturbed: a sweep without faults succeeds, whatever happened before, and leaves
// nothing incomplete.
func (s *swept) undisturbed(t *testing.T) {
	t.Helper()
	if !s.reportsComplete() || s.unreleased || len(audit.Undelivered(s.published.Deliveries)) > 0 && !s.waits() {
		t.Errorf("sweep %d is clean but not complete: %v, %+v", s.act, s.err, s.published)
		return
	}
	for _, id := range sortedIDs(maps.Keys(s.truths[0])) {
		if diff := cmp.Diff(s.content(s.truths[0][id]), s.content(s.after[id].Finding)); diff != "" {
			t.Errorf("sweep %d is clean: content of %s (-clean sweep +stored):\n%s", s.act, id, diff)
		}
	}
	for _, id := range sortedIDs(maps.Keys(s.after)) {
		if is := s.after[id]; is.Incomplete || is.Stale {
			t.Errorf("sweep %d left %s without status: %t, with labels of another state: %t", s.act, id, is.Incomplete, is.Stale)
		}
	}
}

// waits reports whether a notification waits because its outcome is unknown, because it
// was refused by a clock that was ahead, or because a claim of someone without a Lease has
// not expired.
func (s *swept) waits() bool {
	for _, is := range s.after {
		if slices.ContainsFunc(is.Notifications, func(n audit.Notification) bool {
			return n.Attempt.Count > 0 || n.DeliveryState() == audit.DeliveryRejected || n.Claim.By != "" && !n.Claim.WithLease
		}) {
			return true
		}
	}
	return false
}

// reportsPending: if a notification is pending after a sweep that stored all findings, the
// sweep reports the owner as undelivered, or that findings which keep changing are held. This does not apply if the sweep got stale
// findings.
func (s *swept) reportsPending(t *testing.T) {
	t.Helper()
	if s.err != nil || s.misled || len(s.published.Failed) > 0 {
		return
	}
	all := s.published.Deliveries
	if s.rival != nil {
		all = slices.Concat(all, s.rival.Deliveries)
	}
	undelivered := audit.Undelivered(all)
	for _, id := range sortedIDs(maps.Keys(s.after)) {
		for _, m := range s.after[id].Notifications {
			said := slices.ContainsFunc(undelivered, func(d audit.Delivery) bool { return d.Owner == m.Owner || d.Owner == platform })
			held := slices.ContainsFunc(all, func(d audit.Delivery) bool { return d.Result == audit.DeliveryHeld })
			if m.Pending != "" && !said && !held {
				t.Errorf("sweep %d: the notification of %s (%s of %s) is pending, but no delivery failed: %+v", s.act, m.Owner, m.Pending, id, all)
			}
		}
	}
}

// wronglyRecorded: a notification is only recorded as sent if Slack has it.
func (h *history) wronglyRecorded(t *testing.T, s *swept, was, is audit.Stored) {
	t.Helper()
	for _, m := range is.Notifications {
		// A time that was in the future is corrected to an earlier one.
		if before := was.Notification(m.Sender, m.Owner); m.Last == "" || m.At.Equal(before.At) || m.Last == before.Last && m.At.Before(before.At) {
			continue
		}
		if len(h.notificationsOf(is.ID, m.Owner, s.act)) == 0 {
			t.Errorf("sweep %d: the notification of %s (%s of %s) is recorded, but Slack does not have it", s.act, m.Owner, m.Last, is.ID)
		}
	}
}

// notification is a notification in Slack, sent to an owner or to the fallback owner.
type notification struct {
	act      int
	event    audit.Event
	life     int // how often the finding was reopened
	answered bool
}

// notificationsOf returns the notifications of a finding for an owner, in order: those
// of one sweep, or of all sweeps if act is -1.
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

// finish checks the laws that hold at the end of a run: the findings are those of an
// undisturbed sweep, and every notification was sent.
func (h *history) finish(t *testing.T) {
	t.Helper()
	last := h.sweeps[len(h.sweeps)-1]
	for _, id := range sortedIDs(maps.Keys(last.after), maps.Keys(last.truths[0])) {
		is := last.after[id]
		_, there := last.truths[0][id]
		if there != (is.State == audit.StateOpen) {
			t.Errorf("at the end, %s is violated: %t, stored: %q", id, there, is.State)
		}
		owners := map[string]bool{}
		for _, m := range is.Notifications {
			owners[m.Owner] = true
			h.lost(t, is, m)
			h.sentTwice(t, id, m.Owner)
		}
		for _, owner := range is.Owners {
			if is.State == audit.StateOpen && !owners[owner] {
				t.Errorf("at the end, %s is open and %s was not notified", id, owner)
			}
		}
	}
}

// lost: at the end, every owner has been notified of each open finding, and of the
// resolution of each finding that was opened.
func (h *history) lost(t *testing.T, is audit.Stored, m audit.Notification) {
	t.Helper()
	if m.Pending != "" || m.Claim.By != "" {
		t.Errorf("at the end, the notification of %s (%q of %s) is pending, claimed by %q", m.Owner, m.Pending, is.ID, m.Claim.By)
	}
	opening, details, end := -1, -1, -1
	all := h.notificationsOf(is.ID, m.Owner, -1)
	if is.State == audit.StateOpen && !slices.Contains(is.Owners, m.Owner) && m.Owner != platform {
		if n := len(all); n > 0 && all[n-1].event != audit.EventReleased {
			t.Errorf("at the end, %s is open, %s does not own it, and Slack has: %+v", is.ID, m.Owner, all)
		}
		return
	}
	for i, what := range all {
		switch what.event {
		case audit.EventOpened, audit.EventReopened:
			// A publisher that was paused may send a copy too late.
			if late := what.act < len(h.plan.Acts) && h.plan.Acts[what.act].Pause > 0; !late || opening < 0 || all[opening].act != what.act {
				opening = i
			}
		case audit.EventDetails, audit.EventChanged: // which contains the details
			details = i
		case audit.EventResolved, audit.EventReleased:
			end = i
		}
	}
	switch {
	case is.State == audit.StateOpen && opening < 0, is.State == audit.StateOpen && end > opening && !changedAfter(all, end):
		t.Errorf("at the end, %s is open, and Slack has for %s: %+v", is.ID, m.Owner, all)
	case is.State == audit.StateOpen && details < opening:
		t.Errorf("at the end, %s is open, and Slack has no details for %s: %+v", is.ID, m.Owner, all)
	case is.State == audit.StateResolved && opening >= 0 && end < opening:
		t.Errorf("at the end, %s is resolved, and Slack has for %s: %+v", is.ID, m.Owner, all)
	}
}

// changedAfter reports whether an owner got a change of the finding after a notification
// of its resolution that had no response.
func changedAfter(all []notification, end int) bool {
	return !all[end].answered && slices.ContainsFunc(all[end:], func(w notification) bool { return w.event == audit.EventChanged })
}

// sentTwice: no event of one life of a finding is sent twice, unless the response to the
// first message was lost, or the sweep could not record it and reported that. Changes
// may be sent again whenever the world has changed.
func (h *history) sentTwice(t *testing.T, id, owner string) {
	t.Helper()
	type once struct {
		event audit.Event
		life  int
	}
	first := map[once]notification{}
	excused := map[int]bool{} // pauses that explain a copy
	for _, what := range h.notificationsOf(id, owner, -1) {
		key := once{what.event, what.life}
		switch what.event {
		case audit.EventReleased:
			// For an owner who gets it back, the finding is new.
			maps.DeleteFunc(first, func(k once, _ notification) bool { return k.event != audit.EventReleased })
		case audit.EventOpened, audit.EventReopened:
			delete(first, once{audit.EventReleased, what.life})
		}
		was, twice := first[key]
		first[key] = what
		if !twice || !was.answered || h.reportedUndelivered(was.act, owner) {
			continue
		}
		if h.plan.Most > 0 && h.pushedOut(id, owner, was.act, what.act) {
			continue
		}
		// The other publisher took over before the response was recorded, or this one sent
		// what it no longer had claimed.
		if acts := h.plan.Acts; was.act < len(acts) && acts[was.act].Pause > 0 && !excused[was.act] {
			excused[was.act] = true
			continue
		}
		if what.event == audit.EventChanged && what.act > was.act && (h.worldChanged(was.act, what.act) || h.differs(id, was.act, what.act)) {
			continue
		}
		t.Errorf("sweep %d: %s was notified of %s of %s again; sweep %d had got a response", what.act, owner, what.event, id, was.act)
	}
}

// pushedOut reports whether a finding had no room for an owner after some sweep.
func (h *history) pushedOut(id, owner string, from, to int) bool {
	return slices.ContainsFunc(h.sweeps[from:to], func(s *swept) bool { return !slices.Contains(s.after[id].Owners, owner) })
}

// reportedUndelivered reports whether a sweep failed or reported a failed delivery to an
// owner.
func (h *history) reportedUndelivered(act int, owner string) bool {
	s := h.sweeps[act]
	// What was answered before a signal, or within the grace, is recorded.
	if s.ended {
		return false
	}
	return s.err != nil || slices.ContainsFunc(audit.Undelivered(s.published.Deliveries), func(d audit.Delivery) bool {
		return d.Owner == owner || d.Owner == platform
	})
}

// worldChanged reports whether the world changed between two acts.
func (h *history) worldChanged(from, to int) bool {
	acts := h.plan.Acts
	for n := from; n < min(to, len(acts)); n++ {
		if acts[n].Change != nil || n+1 < len(acts) && acts[n].World != acts[n+1].World {
			return true
		}
	}
	return false
}

// differs reports whether a finding names other objects after one sweep than after an
// earlier one. This can happen without a change of the world: a sweep that can't read
// everything notifies of the difference.
func (h *history) differs(id string, from, to int) bool {
	objects := func(n int) []rules.Object { return h.sweeps[n].after[id].Objects }
	return !slices.Equal(objects(from), objects(to))
}

// sortedIDs returns the distinct keys, sorted.
func sortedIDs(all ...iter.Seq[string]) []string {
	var ids []string
	for _, some := range all {
		ids = slices.AppendSeq(ids, some)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
