package audit_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/audit/config"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/evaluable"
	"github.com/eventuallytrue/audit/rules/hosts"
	"github.com/eventuallytrue/audit/rules/isolation"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// shop is the finding that the table is about.
func shop() audit.Finding {
	subject := namespaceSubject("shop", "")
	return audit.Finding{
		ID: rules.ID("probe", subject), Rule: "probe", Subject: subject, Severity: rules.High, Message: "it is open",
		Owners: []string{"team-a"}, State: audit.StateOpen, FirstSeen: now,
	}
}

// record is shop as it is stored.
func record(state audit.State, change func(*audit.Record)) []audit.Record {
	r := audit.Record{Finding: shop(), Reason: audit.ReasonOpened, OpenedAt: now.Add(-time.Hour)}
	r.State, r.FirstSeen = state, now.Add(-time.Hour)
	if state == audit.StateResolved {
		r.Reason, r.ResolvedAt = audit.ReasonResolved, now.Add(-time.Minute)
	}
	if change != nil {
		change(&r)
	}
	return []audit.Record{r}
}

func ran(findings ...audit.Finding) *audit.Evaluation {
	return &audit.Evaluation{Rules: []audit.Outcome{{Rule: "probe", Status: audit.RuleRan}}, Findings: findings}
}

func outcome(status audit.OutcomeStatus) *audit.Evaluation {
	return &audit.Evaluation{Rules: []audit.Outcome{{Rule: "probe", Status: status}}}
}

// claims makes an object a part of a record.
func claims(o snapshot.Ref) func(*audit.Record) {
	return func(r *audit.Record) { r.Objects = []rules.Object{{Ref: o}} }
}

// unread is what a sweep knows that found nothing, and could not read an object.
func unread(rule string, o snapshot.Ref) *audit.Evaluation {
	ev := ran()
	ev.Unread = []audit.RuleObject{{Rule: rule, Object: o}}
	return ev
}

func TestReconcile(t *testing.T) {
	subject := audit.RuleSubject{Rule: "probe", Subject: shop().Subject}
	twoSweeps, anHour := audit.Hold{Sweeps: 2}, audit.Hold{For: time.Hour}
	route, other := snapshot.Ref{Kind: "Route", Namespace: "shop", Name: "web"}, snapshot.Ref{Kind: "Route", Namespace: "shop", Name: "api"}
	worse, going := shop(), shop()
	worse.Message = "it is wide open"
	going.Provisional = true
	// seenOnce is a pending record of a finding that was provisional, of some time ago.
	seenOnce := func(ago time.Duration) []audit.Record {
		return record(audit.StatePending, func(r *audit.Record) {
			r.Reason, r.Sweeps, r.FirstSeen = audit.ReasonProvisional, 1, now.Add(-ago)
		})
	}
	for _, c := range []struct {
		name   string
		stored []audit.Record
		ev     *audit.Evaluation
		hold   audit.Hold
		why    audit.Reason
		state  audit.State
		write  bool
		gone   bool
	}{
		{name: "a violation of which nothing is stored is opened", ev: ran(shop()), why: audit.ReasonOpened, state: audit.StateOpen, write: true},
		{name: "one that is seen again unchanged is confirmed without a write", stored: record(audit.StateOpen, nil), ev: ran(shop()), why: audit.ReasonConfirmed, state: audit.StateOpen},
		{name: "one whose message is another is refreshed", stored: record(audit.StateOpen, nil), ev: ran(worse), why: audit.ReasonRefreshed, state: audit.StateOpen, write: true},
		{name: "one that is evaluated and not there is resolved", stored: record(audit.StateOpen, nil), ev: ran(), why: audit.ReasonResolved, state: audit.StateResolved, write: true},
		{name: "one that comes back is opened again", stored: record(audit.StateResolved, nil), ev: ran(shop()), why: audit.ReasonReopened, state: audit.StateOpen, write: true},
		{name: "a rule that was skipped resolves nothing", stored: record(audit.StateOpen, nil), ev: outcome(audit.RuleSkipped), why: audit.ReasonCarriedOver, state: audit.StateOpen},
		{name: "a rule that failed resolves nothing", stored: record(audit.StateOpen, nil), ev: outcome(audit.RuleFailed), why: audit.ReasonCarriedOver, state: audit.StateOpen},
		{name: "a rule that was skipped does not age what is pending", stored: record(audit.StatePending, nil), ev: outcome(audit.RuleSkipped), hold: twoSweeps, why: audit.ReasonCarriedOver, state: audit.StatePending},
		{name: "a rule that was skipped deletes nothing that is resolved", stored: record(audit.StateResolved, func(r *audit.Record) { r.ResolvedAt = now.AddDate(-1, 0, 0) }), ev: outcome(audit.RuleSkipped), why: audit.ReasonCarriedOver, state: audit.StateResolved},
		{name: "a subject that its rule could not evaluate is carried over", stored: record(audit.StateOpen, nil), ev: &audit.Evaluation{Rules: ran().Rules, NotEvaluated: []audit.RuleSubject{subject}}, why: audit.ReasonCarriedOver, state: audit.StateOpen},
		{name: "one of whose objects cannot be read any more is carried over", stored: record(audit.StateOpen, claims(route)), ev: unread("probe", route), why: audit.ReasonCarriedOver, state: audit.StateOpen},
		{name: "one whose objects can all be read is resolved, whatever else cannot", stored: record(audit.StateOpen, claims(route)), ev: unread("probe", other), why: audit.ReasonResolved, state: audit.StateResolved, write: true},
		{name: "what another rule cannot read holds up nothing", stored: record(audit.StateOpen, claims(route)), ev: unread("else", route), why: audit.ReasonResolved, state: audit.StateResolved, write: true},
		{name: "a rule that is not asked for any more retires its findings", stored: record(audit.StateOpen, nil), ev: &audit.Evaluation{}, why: audit.ReasonRuleRetired, state: audit.StateResolved, write: true},
		{name: "a subject that the config exempts is retired and not resolved", stored: record(audit.StateOpen, nil), ev: &audit.Evaluation{Rules: ran().Rules, Exempted: []audit.RuleSubject{subject}}, why: audit.ReasonRuleRetired, state: audit.StateResolved, write: true},
		{name: "one that an exception hides is excepted and not resolved", stored: record(audit.StateOpen, nil), ev: &audit.Evaluation{Rules: ran().Rules, Excepted: []audit.Finding{shop()}}, why: audit.ReasonExcepted, state: audit.StateResolved, write: true},
		{name: "a new one waits for as many sweeps as its rule wants", ev: ran(shop()), hold: twoSweeps, why: audit.ReasonPending, state: audit.StatePending, write: true},
		{name: "the sweep that makes them enough opens it", stored: record(audit.StatePending, func(r *audit.Record) { r.Sweeps = 1 }), ev: ran(shop()), hold: twoSweeps, why: audit.ReasonOpened, state: audit.StateOpen, write: true},
		{name: "a new one waits for as long as its rule wants", ev: ran(shop()), hold: anHour, why: audit.ReasonPending, state: audit.StatePending, write: true},
		{name: "one that is as old as its rule wants is opened", stored: record(audit.StatePending, nil), ev: ran(shop()), hold: anHour, why: audit.ReasonOpened, state: audit.StateOpen, write: true},
		{name: "one that comes back waits again", stored: record(audit.StateResolved, nil), ev: ran(shop()), hold: anHour, why: audit.ReasonPending, state: audit.StatePending, write: true},
		{name: "one that goes before it was opened leaves no trace", stored: record(audit.StatePending, nil), ev: ran(), hold: anHour, why: audit.ReasonGone, gone: true},
		{name: "one that was left bare is opened as if it were new", stored: record("", nil), ev: ran(shop()), why: audit.ReasonOpened, state: audit.StateOpen, write: true},
		{name: "one that was left bare and is not there leaves no trace", stored: record("", nil), ev: ran(), why: audit.ReasonGone, gone: true},
		{name: "one that was left bare waits for its rule to run", stored: record("", nil), ev: outcome(audit.RuleSkipped), why: audit.ReasonCarriedOver},
		{name: "a resolved one is kept for a while", stored: record(audit.StateResolved, nil), ev: ran(), why: audit.ReasonKept, state: audit.StateResolved},
		{name: "a resolved one is deleted in the end", stored: record(audit.StateResolved, func(r *audit.Record) { r.ResolvedAt = now.Add(-25 * time.Hour) }), ev: ran(), why: audit.ReasonExpired, gone: true},
		{name: "a provisional one waits for a second sweep", ev: ran(going), why: audit.ReasonPending, state: audit.StatePending, write: true},
		{name: "the second sweep that sees a provisional one opens it", stored: seenOnce(time.Minute), ev: ran(going), why: audit.ReasonOpened, state: audit.StateOpen, write: true},
		{name: "so does one that sees it for certain", stored: seenOnce(time.Minute), ev: ran(shop()), why: audit.ReasonOpened, state: audit.StateOpen, write: true},
		{name: "an open one that is provisional now stays open", stored: record(audit.StateOpen, nil), ev: ran(going), why: audit.ReasonConfirmed, state: audit.StateOpen},
		{name: "a provisional one that is gone is remembered for an hour", stored: seenOnce(59 * time.Minute), ev: ran(), why: audit.ReasonKept, state: audit.StatePending},
		{name: "a provisional one that is gone for longer leaves no trace", stored: seenOnce(61 * time.Minute), ev: ran(), why: audit.ReasonGone, gone: true},
		{name: "a provisional one of a retired rule leaves no trace", stored: seenOnce(time.Minute), ev: &audit.Evaluation{}, why: audit.ReasonGone, gone: true},
		{name: "one that was resolved just now and is provisional is opened again", stored: record(audit.StateResolved, nil), ev: ran(going), why: audit.ReasonReopened, state: audit.StateOpen, write: true},
		{
			name: "one that was resolved long ago and is provisional waits", stored: record(audit.StateResolved, func(r *audit.Record) { r.ResolvedAt = now.Add(-2 * time.Hour) }),
			ev: ran(going), why: audit.ReasonPending, state: audit.StatePending, write: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return c.hold }, Keep: 24 * time.Hour}
			all := r.Reconcile(c.stored, c.ev)
			if len(all) != 1 {
				t.Fatalf("%d transitions, want one", len(all))
			}
			got := all[0]
			if got.Why != c.why || got.Write != c.write || got.Delete != c.gone || !c.gone && got.Record.State != c.state {
				t.Errorf("%s to %s, write %v, delete %v; want %s to %s, write %v, delete %v",
					got.Why, got.Record.State, got.Write, got.Delete, c.why, c.state, c.write, c.gone)
			}
			if got.New != (c.stored == nil) {
				t.Errorf("new: %v", got.New)
			}
			if !got.Write && !got.Delete {
				if diff := cmp.Diff(c.stored[0], got.Record); diff != "" {
					t.Errorf("what is not written changed (-stored +record):\n%s", diff)
				}
			}
		})
	}
}

func TestReconcileTwiceWritesNothing(t *testing.T) {
	r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }}
	first := r.Reconcile(nil, ran(shop()))
	r.Now = now.Add(time.Hour)
	again := r.Reconcile([]audit.Record{first[0].Record}, ran(shop()))
	if again[0].Write || again[0].Why != audit.ReasonConfirmed {
		t.Errorf("the second sweep of an unchanged world: %s, write %v", again[0].Why, again[0].Write)
	}
}

func TestReopenedFindingIsNewAndSaysSo(t *testing.T) {
	r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }}
	got := r.Reconcile(record(audit.StateResolved, nil), ran(shop()))[0].Record
	if got.Reopened != 1 || !got.FirstSeen.Equal(now) || !got.OpenedAt.Equal(now) || !got.ResolvedAt.IsZero() {
		t.Errorf("reopened %d times, first seen %s, opened %s, resolved %s", got.Reopened, got.FirstSeen, got.OpenedAt, got.ResolvedAt)
	}
}

func TestStormFlagsWhatIsOpenedAndNothingElse(t *testing.T) {
	var findings []audit.Finding
	for _, name := range []string{"a", "b", "c"} {
		f := shop()
		f.Subject.Name = name
		f.ID = rules.ID(f.Rule, f.Subject)
		findings = append(findings, f)
	}
	old := audit.Record{Finding: findings[0], OpenedAt: now}
	for limit, want := range map[int]int{1: 2, 2: 0, 0: 0} {
		r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }, MaxNew: limit}
		flagged := 0
		for _, tr := range r.Reconcile([]audit.Record{old}, ran(findings...)) {
			if tr.Record.Storm {
				flagged++
			}
		}
		if flagged != want {
			t.Errorf("with a limit of %d, %d of 2 openings are flagged, want %d", limit, flagged, want)
		}
	}
}

func TestSignificantChange(t *testing.T) {
	worse, joined, given, reworded := shop(), shop(), shop(), shop()
	given.Owners = []string{"someone-else"}
	worse.Severity = rules.Low
	joined.Objects = []rules.Object{{Ref: snapshot.Ref{Kind: "Pod", Name: "web"}}}
	reworded.Message = "it is open to all"
	for _, c := range []struct {
		name  string
		found audit.Finding
		want  audit.Reason
	}{
		{"another severity is a change", worse, audit.ReasonChanged},
		{"another object is a change", joined, audit.ReasonChanged},
		{"another owner is a change", given, audit.ReasonChanged},
		{"other words are not", reworded, audit.ReasonRefreshed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }}
			got := r.Reconcile(record(audit.StateOpen, nil), ran(c.found))
			if len(got) != 1 || got[0].Why != c.want {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Of a Route that cannot be read any more it is not known whether it still claims
// the host, so the finding stays, also while it is being deleted.
func TestReconcileWithAnUnreadClaimant(t *testing.T) {
	route := func(team string) snapshot.HostObject {
		return snapshot.HostObject{
			Meta:  snapshot.Meta{Group: "route.openshift.io", Kind: "Route", Namespace: team, Name: "shop"},
			Hosts: []snapshot.HostPattern{{Host: "shop.example.com"}},
		}
	}
	unread := route("team-b")
	unread.Hosts, unread.Err = nil, "no such key: spec"
	leaving := unread
	leaving.Deletion = &snapshot.Deletion{}
	conf := config.Default()
	rule := hosts.Rule()
	evaluate := func(routes ...snapshot.HostObject) *audit.Evaluation {
		var b snapshot.Builder
		b.Add(snapshot.Facts{HostObjects: routes})
		for _, kind := range rule.Needs {
			b.Add(snapshot.Facts{}, snapshot.Read{Kind: kind, Status: snapshot.Listed})
		}
		ev := audit.Evaluate(b.Freeze(), []*rules.Rule{rule}, &conf, now, nil)
		return &ev
	}
	hold := func(string) audit.Hold { return audit.Hold{} }
	r := audit.Reconciler{Now: now, Hold: hold, MaxNew: 10}
	opened := r.Reconcile(nil, evaluate(route("team-a"), route("team-b")))
	if len(opened) != 1 || opened[0].Why != audit.ReasonOpened {
		t.Fatalf("got %+v", opened)
	}
	replaced, elsewhere := unread, unread
	replaced.Kind, replaced.Name = "Door", "other"
	elsewhere.Namespace = "team-c"
	for _, c := range []struct {
		says string
		last snapshot.HostObject
		want audit.Reason
	}{
		{"it is unread", unread, audit.ReasonCarriedOver},
		{"it is unread and leaving", leaving, audit.ReasonCarriedOver},
		{"one that is unread is in its place", replaced, audit.ReasonCarriedOver},
		{"one elsewhere is unread", elsewhere, audit.ReasonResolved},
	} {
		got := r.Reconcile([]audit.Record{opened[0].Record}, evaluate(route("team-a"), c.last))
		if len(got) != 1 || got[0].Why != c.want {
			t.Errorf("where %s: got %+v, want %s", c.says, got, c.want)
		}
	}
}

// What becomes of the finding about an object that could not be evaluated: it ends on
// evidence that the object can be, which only a sweep has that read its kind and ran every
// rule that reads it.
func TestReconcileAnObjectThatCouldNotBeEvaluated(t *testing.T) {
	pill := snapshot.Facts{Faults: []snapshot.Fault{{
		Ref:      snapshot.Ref{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "team-b", Name: "pill"},
		Resource: snapshot.Ingresses, Reason: "decode Ingress: 5000000000 is not a port",
	}}}
	fails := hosts.Rule()
	fails.Run = func(rules.Input) (rules.Result, error) { return rules.Result{}, errors.New("out of luck") }
	unread := snapshot.Read{Kind: snapshot.Ingresses, Version: "v1", Status: snapshot.Failed}
	all := []*rules.Rule{evaluable.Rule(), hosts.Rule(), isolation.Rule()}
	except := "exceptions: [{rule: objects-evaluated, subject: {namespace: team-b}, reason: known, expires: 2027-12-31}]"

	conf := parse(t, "owners: {fallback: platform, teams: [{name: b, namespaces: [team-b]}]}", all...)
	first := audit.Evaluate(freeze(pill), all, conf, now, nil)
	r := audit.Reconciler{Now: now, Hold: func(string) audit.Hold { return audit.Hold{} }, Keep: time.Hour}
	opened := r.Reconcile(nil, &first)
	if len(opened) != 1 || opened[0].Why != audit.ReasonOpened {
		t.Fatalf("got %+v", opened)
	}
	rec := opened[0].Record
	if want := []string{"b", "platform"}; !slices.Equal(rec.Owners, want) || rec.Culprit != "team-b" {
		t.Errorf("owners %q and culprit %q, want %q and team-b", rec.Owners, rec.Culprit, want)
	}
	for _, c := range []struct {
		name   string
		set    []*rules.Rule
		facts  snapshot.Facts
		reads  []snapshot.Read
		config string
		want   audit.Reason
	}{
		{name: "it still can't be evaluated", set: all, facts: pill, want: audit.ReasonConfirmed},
		{name: "it is gone", set: all, want: audit.ReasonResolved},
		{name: "its kind was not read", set: all, reads: []snapshot.Read{unread}, want: audit.ReasonCarriedOver},
		{name: "a rule that reads its kind failed", set: []*rules.Rule{all[0], fails, all[2]}, want: audit.ReasonCarriedOver},
		{name: "no rule reads its kind any more", set: []*rules.Rule{all[0], isolation.Rule()}, want: audit.ReasonRuleRetired},
		{name: "the rule is disabled", set: all[1:], facts: pill, want: audit.ReasonRuleRetired},
		{name: "an exception hides it", set: all, facts: pill, config: except, want: audit.ReasonExcepted},
	} {
		t.Run(c.name, func(t *testing.T) {
			ev := audit.Evaluate(freeze(c.facts, c.reads...), c.set, parse(t, "owners: {fallback: platform, teams: [{name: b, namespaces: [team-b]}]}\n"+c.config, all...), now, nil)
			got := r.Reconcile([]audit.Record{rec}, &ev)
			if len(got) != 1 || got[0].Why != c.want {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}

// The second look must not end a finding because the rule that names the object does not
// run then.
func TestPublishKeepsAnObjectThatIsNotEvaluatedTheSecondTime(t *testing.T) {
	pill := ingress("b", "shop.example.com")
	fault := snapshot.Fault{Ref: pill.Ref(), Resource: snapshot.Ingresses, Reason: "out of bounds"}
	store := newMemory()
	set := func(runs func(look int) (rules.Result, error)) []*rules.Rule {
		looks, r := 0, hosts.Rule()
		r.Run = func(rules.Input) (rules.Result, error) { looks++; return runs(looks) }
		return []*rules.Rule{evaluable.Rule(), r}
	}
	w := &world{first: contested(), second: contested()}
	sweep := func(set []*rules.Rule) {
		t.Helper()
		if _, _, err := audit.SweepAndPublish(t.Context(), w, set, parse(t, ""), ticking(), publisher(store, w), free{}); err != nil {
			t.Fatal(err)
		}
	}
	sweep(set(func(int) (rules.Result, error) { return rules.Result{Unread: []snapshot.Fault{fault}}, nil }))
	sweep(set(func(look int) (rules.Result, error) {
		if look > 1 {
			return rules.Result{}, errors.New("out of luck")
		}
		return rules.Result{}, nil
	}))
	if got := states(store); got[audit.StateOpen] != 1 {
		t.Errorf("stored: %v, want an open finding", got)
	}
	sweep(set(func(int) (rules.Result, error) { return rules.Result{}, nil }))
	if got := states(store); got[audit.StateResolved] != 1 {
		t.Errorf("stored: %v, want a resolved finding", got)
	}
}
