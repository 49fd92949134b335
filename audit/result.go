package audit

import (
	"slices"
	"time"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Result is what one sweep read and found. Each list in it is sorted as its field
// says, so that equal clusters give equal results.
type Result struct {
	Cluster           string
	Started, Finished time.Time
	// Only are the namespaces to which Filter narrowed the result, if it did.
	Only       []string
	Namespaces []string        // all that contain an object, sorted
	Reads      []snapshot.Read // by group and resource
	Ignored    []IgnoredKind   // by group, kind and version
	Problems   []Problem       // in the order in which the source found them
	// Faults are the objects that could not be read or evaluated, by object. They make
	// the sweep incomplete, and say nothing about any other object.
	Faults     []ObjectFault
	Rules      []Outcome  // by name
	Findings   []Finding  // by severity (highest first), rule, subject
	Advisories []Advisory // by rule, subject, message
	Isolation  []rules.Isolation
	// MustEvaluate makes a namespace that could not be evaluated a failure.
	MustEvaluate bool
	// Unpublished is what was not stored, sent or pushed as it should be, apart from
	// single deliveries.
	Unpublished []Failure
	// Deliveries are the digests for owners, by sender, owner and result; none if no
	// one was to be notified.
	Deliveries []Delivery
	// Messages are what a dry run would send, in the order in which it would.
	Messages []Message
	// ReportOnly counts the findings of which report-only keeps owners from being
	// notified. It is nil if nothing is report-only.
	ReportOnly *ReportOnly
	// Ownership is the owner of each of Namespaces. Filter keeps all of it, since a
	// finding in one namespace may go to the owner of another.
	Ownership []NamespaceOwner
	// OwnerKey is a key that the config may miss, or nil.
	OwnerKey   *OwnerKeyHint
	Exceptions []ExceptionUse // in the order of the config
	Phases     []Phase        // in their order

	swept *swept // what it was made of; nil for a result that was read
}

// Snapshot returns what was evaluated, and nil for a result of an earlier sweep.
func (r *Result) Snapshot() *snapshot.Snapshot {
	if r.swept == nil {
		return nil
	}
	return r.swept.snap
}

// EvaluateWith evaluates the rules with these names on what was read, as if these policies
// and replications were there as well, or in place of those of the same objects.
func (r *Result) EvaluateWith(policies []snapshot.Policy, replications []snapshot.Replication, names ...string) Evaluation {
	set := slices.DeleteFunc(slices.Clone(r.swept.set), func(rule *rules.Rule) bool { return !slices.Contains(names, rule.Name) })
	return r.swept.evaluate(r.swept.snap.With(policies, replications), set)
}

// Complete reports whether everything was read and every rule ran. What an
// incomplete sweep does not show may still exist.
func (r *Result) Complete() bool { return len(r.gaps()) == 0 }

// Swept reports whether everything was read and every rule ran, apart from single objects
// that could not be read or evaluated. Someone can hold such a fault in their own namespace
// for ever, so it must not look like a sweep that fails: it is counted by itself.
func (r *Result) Swept() bool { return len(r.gaps()) == len(r.Faults) }

// ObjectFault is an object that could not be read or evaluated.
type ObjectFault struct {
	snapshot.Fault
	// Owner is who is notified of findings in its namespace, as in Finding.Owners.
	Owner string
}

// NotEvaluated counts the namespaces that default-deny-present did not evaluate in a
// direction: the absence of a finding there means nothing.
func (r *Result) NotEvaluated() int {
	n := 0
	for _, row := range r.Isolation {
		if len(row.KindsNotEvaluated()) > 0 && !row.Exempt {
			n++
		}
	}
	return n
}

// Worst returns the severity of the worst finding that is open, zero if there is none.
func (r *Result) Worst() rules.Severity {
	var worst rules.Severity
	for _, f := range r.Findings {
		if f.State != StatePending {
			worst = max(worst, f.Severity)
		}
	}
	return worst
}

// ReportOnly counts what report-only keeps from owners.
type ReportOnly struct {
	Findings int
	// Messages is how many digests the findings would make if they were new.
	Messages int
}

// Phase is a part of a sweep, with its duration.
type Phase struct {
	Name string // one of the Phase constants
	Took time.Duration
}

// The phases of a sweep, in order. A sweep that does not publish has only the first
// two.
const (
	PhaseRead     = "read"
	PhaseEvaluate = "evaluate"
	PhaseWait     = "wait"    // for the lock and what is stored, once the rules ran
	PhaseConfirm  = "confirm" // what is about to be opened or resolved
	PhaseStore    = "store"
	PhaseDeliver  = "deliver" // only if owners are notified
)
