package audit

import (
	"cmp"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Result is what one sweep saw and judged. Every list in it is sorted as its
// field says, so that equal worlds give equal results.
type Result struct {
	Cluster           string
	Started, Finished time.Time
	// Only are the namespaces to which Filter narrowed the result; none if it
	// was not.
	Only       []string
	Namespaces []string        // every namespace that an object is in, sorted
	Reads      []snapshot.Read // by group and resource
	Ignored    []IgnoredKind   // by group, kind and version
	Problems   []Problem       // in the order in which the source met them
	Rules      []Outcome       // by name
	Findings   []Finding       // by severity (highest first), rule, subject
	Advisories []Advisory      // by rule, subject, message
	Isolation  []rules.Isolation
	// Deliveries are the digests for owners, by sender, owner and result; none
	// where nobody was to be told.
	Deliveries []Delivery
	// Messages are what would be sent, in the order in which it would be, of a
	// sweep that only rehearses.
	Messages []Message
	// ReportOnly are the findings of which report-only lets nobody be told. It is
	// nil where nothing is report-only.
	ReportOnly *ReportOnly
	// Ownership says who owns each of Namespaces. Filter leaves it whole, since
	// what concerns one namespace may be told to the owner of another.
	Ownership  []NamespaceOwner
	Exceptions []ExceptionUse // in the order of the config
	Phases     []Phase        // in their order
}

// Complete reports whether everything was read and every rule ran. What an
// incomplete sweep does not show may be there all the same.
func (r *Result) Complete() bool {
	if len(r.Problems) > 0 {
		return false
	}
	for _, read := range r.Reads {
		if !read.Status.Known() {
			return false
		}
	}
	for _, o := range r.Rules {
		if o.Status != RuleRan {
			return false
		}
	}
	return true
}

// NotEvaluated counts the namespaces that default-deny-present did not evaluate:
// that there is no finding on them says nothing.
func (r *Result) NotEvaluated() int {
	n := 0
	for _, row := range r.Isolation {
		if len(row.NotEvaluated) > 0 && !row.Exempt {
			n++
		}
	}
	return n
}

// Worst returns the severity of the worst finding, zero if there is none.
func (r *Result) Worst() rules.Severity {
	var worst rules.Severity
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// ReportOnly counts what report-only keeps from owners.
type ReportOnly struct {
	Findings int
	// Messages is how many digests they would make, were they new and told.
	Messages int
}

// Problem is something that a source could not read and that belongs to no one
// kind, such as a document that does not parse.
type Problem struct {
	Where  string // for people: file and document number
	Reason string
}

// Passed counts objects of a kind that no rule needs, which were passed over.
type IgnoredKind struct {
	Group, Version, Kind string
	Items                int
}

func compareIgnored(a, b IgnoredKind) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Version, b.Version))
}

// Outcome says whether a rule judged.
type Outcome struct {
	Rule   string
	Status OutcomeStatus
	Reason string // why it did not run
}

// OutcomeStatus is whether a rule judged. Only Ran tells anything about what
// the rule did not find.
type OutcomeStatus string

// The outcomes of a rule.
const (
	RuleRan     OutcomeStatus = "ran"
	RuleSkipped OutcomeStatus = "skipped" // a kind it needs was not read completely
	RuleFailed  OutcomeStatus = "failed"  // it erred or panicked
)

// State is where a finding stands in its life.
type State string

// The states of a finding.
const (
	StatePending  State = "Pending"
	StateOpen     State = "Open"
	StateResolved State = "Resolved"
)

// Finding is a violation with an identity, owners and a life.
type Finding struct {
	ID        string // rules.ID of rule and subject
	Rule      string
	Severity  rules.Severity
	Subject   rules.Subject
	Verdict   string
	Owners    []string // names, sorted: who is told
	Message   string
	Cause     string
	Remedy    string
	State     State
	FirstSeen time.Time
	Objects   []rules.Object // by creation, then reference
	// MoreObjects counts those that a store had no room for.
	MoreObjects int
}

// Advisory is worth a line in the report, but never a finding.
type Advisory struct {
	Rule    string // the rule that gives it, or "config"
	Subject rules.Subject
	Owners  []string
	Message string
	Objects []rules.Object
}
