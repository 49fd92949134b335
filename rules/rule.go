// Package rules holds the invariants that audit makes eventually true.
//
// A rule is a value: a name, a doc, the kinds it needs and a pure function from
// a view of the snapshot to violations. Rules do no IO, hold no state and look
// at no clock. To add one, write its package beneath this one, its folder of
// fixtures in testdata/rules, and its line in catalog.All; rulestest holds it to
// the rest.
package rules

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Rule is an invariant of a cluster.
type Rule struct {
	// Name states what must hold, in lower case with dashes. It is the file
	// name, the fixture folder, the metric label and part of every finding's
	// identity, so it is never changed and never used again.
	Name string
	// Doc is what users read of the rule. Up to the first blank line it is the
	// title: no capital, no period, at most 72 letters.
	Doc string
	// Severity is what a violation weighs, where neither the config nor the
	// violation itself says otherwise.
	Severity Severity
	// Subject is the kind of thing whose state the rule judges: one of the
	// Subject constants.
	Subject string
	// Needs are the kinds that Run may read. If one of them was not read
	// completely the rule is skipped, and nothing is known of its subjects.
	Needs []snapshot.Kind
	// Uses are kinds that Run may read beside those, for evidence of causes: it
	// judges without them where View.Known says that they were not read.
	Uses []snapshot.Kind
	// Settings are the settings of the config that the rule obeys beside its
	// severity.
	Settings []Setting
	// Run judges. The order of what it returns does not matter. An error or a
	// panic means that nothing is known of the rule's subjects.
	Run func(Input) (Result, error)
}

// The kinds of subject there are.
const (
	SubjectHost      = "Host"
	SubjectNamespace = "Namespace"
	SubjectTemplate  = "ConstraintTemplate"
)

// Setting names a setting that a rule may obey.
type Setting string

// The settings there are, as the config spells them.
const (
	SettingDirections       Setting = "directions"
	SettingExemptNamespaces Setting = "exemptNamespaces"
)

// Input is all that a rule judges by.
type Input struct {
	// View serves the kinds that the rule needs.
	View *snapshot.View
	// Owner says who owns an object. It never fails.
	Owner func(*snapshot.Meta) Owner
	// Directions are the directions that must be denied by default.
	Directions []snapshot.Direction
	// Exempt reports whether the config exempts a namespace from the rule.
	Exempt func(namespace string) bool
	// Before says what an earlier sweep saw of a namespace and a direction. It
	// is nil where none is known.
	Previous func(namespace string, d snapshot.Direction) Previous
}

// Earlier is what an earlier sweep saw. The zero value is nothing.
type Previous struct {
	State IsolationState
	At    time.Time
}

// Result is what a rule found.
type Result struct {
	Violations []Violation
	Advisories []Advisory
	Isolation  []Isolation // of default-deny-present only
	// Unjudged are subjects of which the rule knows that it cannot judge them:
	// that there is no violation of theirs says nothing.
	NotEvaluated []Subject
	// Unread are objects of which the rule cannot tell what subjects they belong
	// to: that there is no violation any more which they were part of says nothing.
	Unread []snapshot.Ref
	// Waived are subjects that the config leaves out: that there is no violation
	// of theirs does not say that anything was mended.
	Exempted []Subject
}

// Title returns the first paragraph of the doc on one line.
func (r *Rule) Title() string {
	title, _, _ := strings.Cut(r.Doc, "\n\n")
	return strings.Join(strings.Fields(title), " ")
}

// Text returns what follows the title in the doc.
func (r *Rule) Text() string {
	_, text, _ := strings.Cut(r.Doc, "\n\n")
	return strings.TrimSpace(text)
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Validate returns what is wrong with a set of rules, all of it at once.
func Validate(set []*Rule) error {
	var errs []error
	seen := map[string]bool{}
	for _, r := range set {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("rule %q: %s", r.Name, fmt.Sprintf(format, args...)))
		}
		if !validName.MatchString(r.Name) || len(r.Name) > 40 {
			bad("name is not lower case with dashes, or longer than 40 letters")
		}
		if seen[r.Name] {
			bad("name is used twice")
		}
		seen[r.Name] = true
		if title := r.Title(); title == "" || len(title) > 72 || strings.HasSuffix(title, ".") {
			bad("title %q is empty, longer than 72 letters or ends with a period", title)
		}
		if r.Text() == "" {
			bad("doc says no more than its title")
		}
		if r.Severity == 0 {
			bad("no severity")
		}
		if !slices.Contains([]string{SubjectHost, SubjectNamespace, SubjectTemplate}, r.Subject) {
			bad("unknown subject %q", r.Subject)
		}
		if !slices.IsSorted(r.Uses) {
			bad("uses are unsorted")
		}
		if len(r.Needs) == 0 || !slices.IsSorted(r.Needs) || len(slices.Compact(slices.Clone(r.Needs))) != len(r.Needs) {
			bad("needs are empty, unsorted or doubled")
		}
		if r.Run == nil {
			bad("nothing to run")
		}
	}
	return errors.Join(errs...)
}

// Isolation is what the policies of one namespace amount to, as
// default-deny-present judges them. The words are those of the report.
type Isolation struct {
	Namespace string
	Workloads int // live ones, without those in the host's network
	Ingress   IsolationState
	Egress    IsolationState
	Open      string // none, ingress, egress, both, partial
	Scope     string // all, world, cluster, tcp: how far open; empty if none
	Exempt    bool   // exempted by the config
	Exposed   []Exposed
	// NotEvaluated are the kinds of policies that nothing here understands and
	// that may be about the namespace: what stands in the row leaves them out.
	NotEvaluated []string
}

// Denial says whether traffic in one direction is denied by default.
type IsolationState string

// The denials there are.
const (
	Present IsolationState = "present"
	Missing IsolationState = "missing"
	Partial IsolationState = "partial"
)

// Exposed is a workload whose pods are open.
type Exposed struct {
	Kind, Name string
	Direction  string // ingress, egress, both
	Reason     string // a word of the verdict model, such as "not-selected"
}
