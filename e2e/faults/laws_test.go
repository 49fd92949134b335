package faults

import (
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
	board  *board
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
		h.wronglyMarked(t, s, was, is)
	}
	s.honest(t)
	s.tells(t)
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
		if !violated || s.lied && was.Subject.Kind == rules.SubjectHost && shared(was.Objects, f.Objects) < 2 {
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
		want, got := words(f), words(is.Finding)
		if !s.wholeTruth() {
			// What a cause is told from may be what could not be read.
			want.Cause, got.Cause = "", ""
		}
		diff := cmp.Diff(want, got)
		if diff == "" || s.lied {
			return
		}
		diffs = append(diffs, diff)
	}
	switch {
	case opened && len(diffs) == 0:
		t.Errorf("sweep %d: %s is %s and was never violated", s.act, id, is.State)
	case len(s.truths) > 1, cmp.Equal(words(was.Finding), words(is.Finding)):
	default:
		t.Errorf("sweep %d: %s is in words of no world (-clean sweep +stored): %s", s.act, id, diffs)
	}
}

// words is what a finding says, without its life.
func words(f audit.Finding) audit.Finding {
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
func (s *swept) wholeTruth() bool {
	return s.err == nil && s.res.Complete() && len(s.published.Failed) == 0
}

// honest: a sweep that says that it was complete reports what a clean one finds, and
// what it says of the findings is what is stored.
func (s *swept) honest(t *testing.T) {
	t.Helper()
	if !s.wholeTruth() || s.lied || len(s.truths) > 1 {
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
		case !cmp.Equal(words(want), words(got)):
			t.Errorf("sweep %d says that it is complete and of %s (-clean sweep +reported):\n%s", s.act, id, cmp.Diff(words(want), words(got)))
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
	if !s.wholeTruth() || s.unreleased || len(audit.Undelivered(s.published.Deliveries)) > 0 {
		t.Errorf("sweep %d is clean and not complete: %v, %+v", s.act, s.err, s.published)
		return
	}
	for _, id := range sortedIDs(maps.Keys(s.truths[0])) {
		if diff := cmp.Diff(words(s.truths[0][id]), words(s.after[id].Finding)); diff != "" {
			t.Errorf("sweep %d is clean and left %s (-of a clean sweep alone +stored):\n%s", s.act, id, diff)
		}
	}
	for _, id := range sortedIDs(maps.Keys(s.after)) {
		if is := s.after[id]; is.Incomplete || is.Stale {
			t.Errorf("sweep %d left %s bare: %t, with labels of another state: %t", s.act, id, is.Incomplete, is.Stale)
		}
	}
}
