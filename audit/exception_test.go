package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit"
	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// exceptionCase is one sentence of what exceptions do to the findings of rule
// owner-known on the namespaces legacy and shop.
type exceptionCase struct {
	name       string
	exceptions []string // namespace pattern and end, such as "legacy 2027-03-31"
	skipped    bool     // the rule could not run
	want       []string // namespaces with a finding
	hidden     []int    // by exception
	notified   []string // what the advisories say
}

func TestException(t *testing.T) {
	const (
		expired = `the exception (because, until 2027-01-14) has expired and no longer hides anything: renew or remove it`
		unused  = `the exception (because, until 2027-03-31) hides nothing: remove it`
	)
	for _, c := range []exceptionCase{
		{
			name:       "an exception in force hides what it matches and counts it",
			exceptions: []string{"legacy 2027-03-31"},
			want:       []string{"shop"},
			hidden:     []int{1},
		}, {
			name:       "one exception can hide several findings",
			exceptions: []string{"* 2027-03-31"},
			hidden:     []int{2},
		}, {
			name:       "of two exceptions that overlap each counts, and neither is called unused",
			exceptions: []string{"leg* 2027-03-31", "*acy 2027-04-30"},
			want:       []string{"shop"},
			hidden:     []int{1, 1},
		}, {
			name:       "an exception is in force to the end of its last day",
			exceptions: []string{"legacy 2027-01-15"},
			want:       []string{"shop"},
			hidden:     []int{1},
		}, {
			name:       "an expired exception hides nothing and is reported",
			exceptions: []string{"legacy 2027-01-14"},
			want:       []string{"legacy", "shop"},
			hidden:     []int{0},
			notified:   []string{expired},
		}, {
			name:       "an expired exception does not spoil one in force beside it",
			exceptions: []string{"legacy 2027-01-14", "legacy 2027-03-31"},
			want:       []string{"shop"},
			hidden:     []int{0, 1},
			notified:   []string{expired},
		}, {
			name:       "an exception that hides nothing is reported",
			exceptions: []string{"gone 2027-03-31"},
			want:       []string{"legacy", "shop"},
			hidden:     []int{0},
			notified:   []string{unused},
		}, {
			name:       "an exception of a rule that did not run is not called unused",
			exceptions: []string{"legacy 2027-03-31"},
			skipped:    true,
			hidden:     []int{0},
		}, {
			name:       "an expired exception of a rule that did not run is still reported",
			exceptions: []string{"legacy 2027-01-14"},
			skipped:    true,
			hidden:     []int{0},
			notified:   []string{expired},
		},
	} {
		t.Run(c.name, c.run)
	}
}

func (c exceptionCase) run(t *testing.T) {
	set := []*rules.Rule{violates("owner-known", "legacy", "shop")}
	text := "exceptions:\n"
	for _, x := range c.exceptions {
		pattern, end, _ := strings.Cut(x, " ")
		text += fmt.Sprintf("- {rule: owner-known, subject: {namespace: %q}, reason: because, expires: %s}\n", pattern, end)
	}
	var reads []snapshot.Read
	if c.skipped {
		reads = append(reads, snapshot.Read{Kind: snapshot.Namespaces, Status: snapshot.Forbidden})
	}
	ev := audit.Evaluate(freeze(snapshot.Facts{}, reads...), set, parse(t, text, set...), now, nil)

	var found, notified []string
	for _, f := range ev.Findings {
		found = append(found, f.Subject.Name)
	}
	for _, a := range ev.Advisories {
		notified = append(notified, a.Message)
	}
	var hidden []int
	for i, u := range ev.Exceptions {
		hidden = append(hidden, u.Hidden)
		says := func(text string) bool { return strings.Contains(text, "hides nothing: remove it") }
		if want := slices.ContainsFunc(c.notified, says); u.Unused != want {
			t.Errorf("use %d is called unused: %t", i, u.Unused)
		}
		if want := fmt.Sprintf("exceptions[%d]", i); u.Exception.At.Path != want {
			t.Errorf("use %d is that of %s, want the order of the config", i, u.Exception.At.Path)
		}
	}
	for what, diff := range map[string]string{
		"findings": cmp.Diff(c.want, found), "hidden": cmp.Diff(c.hidden, hidden), "advisories": cmp.Diff(c.notified, notified),
	} {
		if diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

func TestExceptionHidesNothingOfAnotherRule(t *testing.T) {
	set := []*rules.Rule{violates("owner-known", "legacy"), violates("default-deny-present", "legacy")}
	text := "exceptions: [{rule: owner-known, subject: {namespace: legacy}, reason: because, expires: 2027-03-31}]"
	ev := audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, text, set...), now, nil)
	if len(ev.Findings) != 1 || ev.Findings[0].Rule != "default-deny-present" {
		t.Errorf("got %+v, want the finding of the other rule", ev.Findings)
	}
}

func TestExceptionAdvisoryPointsIntoTheConfig(t *testing.T) {
	set := []*rules.Rule{violates("owner-known")}
	text := "exceptions: [{rule: owner-known, subject: {namespace: gone}, reason: because, expires: 2027-03-31}]"
	ev := audit.Evaluate(freeze(snapshot.Facts{}), set, parse(t, text, set...), now, nil)
	want := []audit.Advisory{{
		Rule:    "config",
		Subject: rules.Subject{Kind: "Exception", Name: "owner-known", Detail: "exceptions[0]"},
		Message: "the exception (because, until 2027-03-31) hides nothing: remove it",
	}}
	if diff := cmp.Diff(want, ev.Advisories); diff != "" {
		t.Errorf("advisories (-want +got):\n%s", diff)
	}
}
