package store_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/audit/kube/store"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

const hostileRule = "one-owner-per-host"

// letters are the parts of hostile texts; some are not letters.
var letters = []string{
	"a", "Z", "-", ".", "_", "/", " ", "<", "&", "\"", "\\", "\n", "\r", "\t", "\x00", "\x1b[2J", "\x7f",
	"\xff", "\xc3\x28", "\xed\xa0\x80", "é", "е", "…", "\u2028", "\u202e", "\ufeff", "\ufffd", "\U0001F4A9", "=", ",", "null", "owner",
}

// text returns a text of zero, one, about limit, or more letters.
func text(r *rand.Rand, limit int) string {
	n := []int{0, 1, 7, limit - 1, limit, limit + 1, 3 * limit}[r.IntN(7)]
	var b strings.Builder
	for range n {
		b.WriteString(letters[r.IntN(len(letters))])
	}
	return b.String()
}

func moment(r *rand.Rand) time.Time {
	switch r.IntN(4) {
	case 0:
		return time.Time{}
	case 1:
		return time.Date(10000+r.IntN(100), 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(time.FixedZone("there", 3600*(r.IntN(20)-10)))
}

func hostileFinding(r *rand.Rand) audit.Finding {
	s := rules.Subject{Kind: text(r, 63), Namespace: text(r, 253), Name: text(r, 512), Detail: text(r, 63)}
	f := audit.Finding{
		ID: rules.ID(hostileRule, s), Rule: hostileRule, Severity: rules.Severity(r.IntN(5)), Subject: s,
		Verdict: text(r, 63), Message: text(r, 8192), Cause: text(r, 8192), Remedy: text(r, 8192),
		State: audit.StateOpen, FirstSeen: moment(r),
	}
	for range []int{0, 1, 2, 99, 100, 101}[r.IntN(6)] {
		f.Owners = append(f.Owners, text(r, 253))
	}
	for range []int{0, 1, 99, 100, 101, 1000}[r.IntN(6)] {
		f.Objects = append(f.Objects, rules.Object{
			Ref:   snapshot.Ref{Group: text(r, 253), Kind: text(r, 63), Namespace: text(r, 253), Name: text(r, 253)},
			Owner: text(r, 63), Created: moment(r), Reason: text(r, 63), Detail: text(r, 100),
		})
	}
	return f
}

func TestFitIsDoneOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		fitted := store.Fit(audit.Record{
			Finding: hostileFinding(r), Reason: audit.Reason(text(r, 63)), Sweeps: r.Int() - r.Int(), Reopened: r.Int(),
			OpenedAt: moment(r), ResolvedAt: moment(r),
		})
		if diff := cmp.Diff(fitted, store.Fit(fitted)); diff != "" {
			t.Fatalf("what fits is changed (-once +twice):\n%s", diff)
		}
	}
}

func TestFitCountsObjectsThatItCuts(t *testing.T) {
	f := audit.Finding{Objects: make([]rules.Object, 1000)}
	for i := range f.Objects {
		f.Objects[i].Name = fmt.Sprint(i)
	}
	got := store.FitFinding(f)
	if len(got.Objects) != v1alpha1.MaxObjects || got.Objects[99].Name != "99" || got.MoreObjects != 900 {
		t.Errorf("%d objects and %d more", len(got.Objects), got.MoreObjects)
	}
}

// What is loaded must equal what the next sweep finds, or every sweep would write.
func TestLiveHostileFindingsAreWrittenOnce(t *testing.T) {
	findings := newStore(t, findingsCluster(t).Config(kubetest.Admin), store.Options{PageSize: 7})
	r := rand.New(rand.NewPCG(3, 4))
	there := &audit.Evaluation{Rules: []audit.Outcome{{Rule: hostileRule, Status: audit.RuleRan}}}
	for range 12 {
		there.Findings = append(there.Findings, store.FitFinding(hostileFinding(r)))
	}
	gone := &audit.Evaluation{Rules: there.Rules}
	sweep := audit.Reconciler{
		Now: monday.Add(123456789), Hold: func(string) audit.Hold { return audit.Hold{} }, Keep: 30 * 24 * time.Hour,
	}
	for i, step := range []struct {
		ev   *audit.Evaluation
		want audit.Reason
	}{{there, audit.ReasonOpened}, {there, audit.ReasonConfirmed}, {gone, audit.ReasonResolved}, {gone, audit.ReasonKept}, {there, audit.ReasonReopened}, {there, audit.ReasonConfirmed}} {
		sweep.Now = sweep.Now.Add(10 * time.Minute)
		writes := publish(t, findings, sweep, step.ev, step.want)
		if want := len(there.Findings) * (1 - i%2); writes != want {
			t.Errorf("sweep %d writes %d findings, not %d", i, writes, want)
		}
	}
}

// publish updates the store to match an evaluation, and returns how many findings
// it wrote.
func publish(t *testing.T, findings *store.Store, sweep audit.Reconciler, ev *audit.Evaluation, want audit.Reason) int {
	t.Helper()
	stored, newer, err := findings.Load(t.Context())
	if err != nil || len(newer) > 0 {
		t.Fatalf("load: %v, left alone %v", err, newer)
	}
	var records []audit.Record
	for _, st := range stored {
		records = append(records, st.Record)
	}
	writes := 0
	for _, tr := range sweep.Reconcile(records, ev) {
		if tr.Why != want {
			t.Fatalf("%s is %s, not %s", tr.Record.ID, tr.Why, want)
		}
		if !tr.Write && !tr.Delete {
			continue
		}
		writes++
		if tr.New {
			sameRecord(t, store.Fit(tr.Record), must(findings.Create(t.Context(), tr.Record))(t).Record)
			continue
		}
		i := slices.IndexFunc(stored, func(st audit.Stored) bool { return st.ID == tr.Record.ID })
		st := stored[i]
		st.Record = tr.Record
		sameRecord(t, store.Fit(tr.Record), must(findings.Update(t.Context(), st))(t).Record)
	}
	return writes
}

// The longest finding that the schema accepts, in letters that take six bytes.
func TestLiveLongestFindingCanBeStored(t *testing.T) {
	findings := newStore(t, findingsCluster(t).Config(kubetest.Admin), store.Options{})
	long := func(n int, last string) string { return strings.Repeat("\x01", n-len(last)) + last }
	r := aRecord(long(v1alpha1.MaxSubjectName, ""))
	r.Subject.Kind, r.Subject.Namespace, r.Subject.Detail = long(63, ""), long(253, ""), long(63, "")
	r.ID = rules.ID(r.Rule, r.Subject)
	r.Verdict, r.Reason = long(63, ""), audit.Reason(long(63, ""))
	r.Message, r.Cause, r.Remedy = long(8192, ""), long(8192, ""), long(8192, "")
	r.Owners, r.Objects = nil, nil
	for i := range 120 {
		r.Owners = append(r.Owners, long(v1alpha1.MaxName, fmt.Sprintf("%03d", i)))
		r.Objects = append(r.Objects, rules.Object{
			Ref:   snapshot.Ref{Group: long(253, ""), Kind: long(63, ""), Namespace: long(253, ""), Name: long(253, "")},
			Owner: long(253, ""), Created: monday, Reason: long(63, ""), Detail: long(v1alpha1.MaxDetail, ""),
		})
	}
	st := must(findings.Create(t.Context(), r))(t)
	sameRecord(t, store.Fit(r), st.Record)
	st.State = audit.StateResolved
	must(findings.Update(t.Context(), st))(t)
}
