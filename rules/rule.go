// Package rules holds the invariants that audit makes eventually true.
//
// A rule is a value: a name, a doc, the kinds it needs and a pure function from
// a view of the snapshot to violations. Rules do no IO, hold no state and read no
// clock. To add one, write a package below this one, a folder of fixtures in
// testdata/rules, and a line in catalog.All; package rulestest checks the rest.
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
	// Name states what must hold, in lower case with dashes. It is the name of the
	// fixture folder, a metric label and part of every finding's identity, so it is
	// never changed and never reused.
	Name string
	// Doc is the rule's documentation for users. The part before the first blank
	// line is the title: no capital, no period, at most 72 letters.
	Doc string
	// Severity is the severity of a violation unless the config or the violation
	// itself changes it.
	Severity Severity
	// Subject is the kind of thing that violations are about: one of the Subject
	// constants.
	Subject string
	// Needs are the kinds that Run may read. If one of them was not read
	// completely the rule is skipped, and nothing is known about its subjects.
	Needs []snapshot.Kind
	// Uses are further kinds that Run may read, as evidence such as of causes, or
	// because some objects refer to them. Where View.Known reports that they were not
	// read, it evaluates without them as far as it can.
	Uses []snapshot.Kind
	// Affected are those of Needs whose objects suffer from a violation and do not
	// make it one, such as the workloads of a namespace without a policy. That they
	// come and go is not a change of a finding that its owners are notified of.
	Affected []snapshot.Kind
	// Settings are the settings in the config that the rule supports, besides its
	// severity.
	Settings []Setting
	// AfterOthers is true if the rule evaluates what the other rules could not: it runs
	// after them, and has Input.Faults.
	AfterOthers bool
	// Run evaluates the rule. The order of what it returns does not matter. An
	// error or a panic means that nothing is known about the rule's subjects.
	Run func(Input) (Result, error)
}

// The kinds of subjects.
const (
	SubjectHost      = "Host"
	SubjectNamespace = "Namespace"
	SubjectTemplate  = "ConstraintTemplate"
	// SubjectObject stands for any kind: subjects have that of the object.
	SubjectObject = "Object"
)

// Setting names a setting that a rule may support.
type Setting string

// The settings, as the config spells them.
const (
	SettingDirections       Setting = "directions"
	SettingExemptNamespaces Setting = "exemptNamespaces"
)

// Input is all that a rule evaluates.
type Input struct {
	// Now is when the sweep started.
	Now time.Time
	// View gives access to the kinds that the rule needs.
	View *snapshot.View
	// Owner returns the owner of an object. It never fails.
	Owner func(*snapshot.Meta) Owner
	// Directions are the directions that must be denied by default.
	Directions []snapshot.Direction
	// Exempt reports whether the config exempts a namespace from the rule.
	Exempt func(namespace string) bool
	// TrustedSolver reports whether the config trusts the solvers of ACME challenges in a
	// namespace. It is nil if it trusts none.
	TrustedSolver func(namespace string) bool
	// Previous returns what an earlier sweep found for a namespace and a direction.
	// It is nil if no earlier sweep is known.
	Previous func(namespace string, d snapshot.Direction) Previous
	// Faults are the objects that could not be read, or that a rule of this sweep could not
	// evaluate, each once, sorted. Only a rule that runs after the others has them.
	Faults []snapshot.Fault
}

// Previous is what an earlier sweep found. The zero value means nothing.
type Previous struct {
	State IsolationState
	At    time.Time
}

// Result is what a rule found.
type Result struct {
	Violations []Violation
	Advisories []Advisory
	Isolation  []Isolation // of default-deny-present only
	// NotEvaluated are subjects that the rule could not evaluate: the absence of a
	// violation says nothing about them.
	NotEvaluated []Subject
	// Unread are objects whose subjects the rule cannot determine, or not all of them: a
	// violation that involved one of them and is gone may still exist. They make the
	// sweep incomplete.
	Unread []snapshot.Fault
	// Dependent are objects that were read, but whose subjects depend on one that was
	// not, such as the routes of a Gateway: a violation that involved one of them and is
	// gone may still exist.
	Dependent []snapshot.Ref
	// UnreadIn are the namespaces with objects of which it is not known what they are
	// part of: a violation that involved any object there and is gone may still exist,
	// with one that could not be read in its place.
	UnreadIn []string
	// Exempted are subjects that the config exempts: the absence of a violation
	// does not mean that one was resolved.
	Exempted []Subject
}

// Safely calls a function that evaluates one object or one namespace, and returns a panic
// as an error: what is wrong with one must not end the evaluation of the others.
func Safely(evaluate func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	evaluate()
	return nil
}

// Add adds what was found in a part of what a rule evaluates.
func (r *Result) Add(part Result) {
	r.Violations = append(r.Violations, part.Violations...)
	r.Advisories = append(r.Advisories, part.Advisories...)
	r.Isolation = append(r.Isolation, part.Isolation...)
	r.NotEvaluated = append(r.NotEvaluated, part.NotEvaluated...)
	r.Unread = append(r.Unread, part.Unread...)
	r.Dependent = append(r.Dependent, part.Dependent...)
	r.Exempted = append(r.Exempted, part.Exempted...)
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

// Validate returns all that is wrong with a set of rules.
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
			bad("doc has no text after the title")
		}
		if r.Severity == 0 {
			bad("no severity")
		}
		if !slices.Contains([]string{SubjectHost, SubjectNamespace, SubjectTemplate, SubjectObject}, r.Subject) {
			bad("unknown subject %q", r.Subject)
		}
		if !slices.IsSorted(r.Uses) {
			bad("uses are unsorted")
		}
		if len(r.Needs) == 0 || !slices.IsSorted(r.Needs) || len(slices.Compact(slices.Clone(r.Needs))) != len(r.Needs) {
			bad("needs are empty, unsorted or contain duplicates")
		}
		for _, kind := range r.Affected {
			if !slices.Contains(r.Needs, kind) {
				bad("affected kind %s is not needed", kind)
			}
		}
		if r.Run == nil {
			bad("no Run function")
		}
	}
	return errors.Join(errs...)
}

// Isolation is the effect of the policies of one namespace, as evaluated by
// default-deny-present. The words are those of the report.
type Isolation struct {
	Namespace string
	Workloads int // live ones, without those in the host's network
	Ingress   IsolationState
	Egress    IsolationState
	Open      string // none, ingress, egress, both, partial: what allow-all rules reopen
	Scope     string // all, world, cluster, tcp: how far open; empty if none
	Exempt    bool   // exempted by the config
	Exposed   []Exposed
	// NotEvaluated are, by snapshot.Direction, the kinds for which the direction was
	// not evaluated: unsupported kinds of policies, and kinds that policies depend on
	// and that were not read. The row leaves out what they may open.
	NotEvaluated [2][]string
}

// KindsNotEvaluated returns the kinds of NotEvaluated, sorted. One that is there for a
// single direction is followed by it, as in "ciliumcidrgroups.cilium.io (egress)".
func (i *Isolation) KindsNotEvaluated() []string {
	var out []string
	for _, d := range snapshot.Directions() {
		for _, kind := range i.NotEvaluated[d] {
			if !slices.Contains(i.NotEvaluated[1-d], kind) {
				kind += InDirection(d)
			}
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// InDirection returns what follows a kind that is not evaluated in one direction.
func InDirection(d snapshot.Direction) string { return " (" + strings.ToLower(d.String()) + ")" }

// IsolationState says whether traffic in one direction is denied by default.
type IsolationState string

// The states of a direction.
const (
	Present IsolationState = "present"
	Missing IsolationState = "missing"
	Partial IsolationState = "partial"
)

// Exposed is a workload whose pods are open.
type Exposed struct {
	Kind, Name string
	Direction  string // ingress, egress, both
	Reason     string // such as "not-selected"
}
