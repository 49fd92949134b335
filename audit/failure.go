package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Failure is one reason why a sweep did not do all that it should have.
type Failure struct {
	Stage Stage
	// Where is what it failed at: a kind, a document, a rule, a namespace, a finding,
	// an owner and a sender, or the metrics.
	Where  string
	Reason string
}

// Stage is what a sweep was doing when something failed.
type Stage string

// The stages of a sweep, in order.
const (
	StageRead     Stage = "read"     // a kind, a document, or what had to be read again
	StageEvaluate Stage = "evaluate" // a rule, or a namespace that was not evaluated
	StagePublish  Stage = "publish"  // what ended the publishing early, such as the Lease
	StageStore    Stage = "store"    // a finding
	StageDeliver  Stage = "deliver"  // a digest, or Events
	StagePush     Stage = "push"     // metrics
)

// Stages returns all stages in order.
func Stages() []Stage {
	return []Stage{StageRead, StageEvaluate, StagePublish, StageStore, StageDeliver, StagePush}
}

// Failures returns every reason why the sweep is not a success, by stage. Nothing else
// decides on that: not the exit code, the log or a report.
func (r *Result) Failures() []Failure {
	out := r.gaps()
	if r.MustEvaluate {
		for _, row := range r.Isolation {
			if kinds := row.KindsNotEvaluated(); len(kinds) > 0 && !row.Exempt {
				out = append(out, Failure{StageEvaluate, "namespace " + row.Namespace, "not evaluated because of " + strings.Join(kinds, ", ")})
			}
		}
	}
	out = append(out, r.Unpublished...)
	for _, d := range Undelivered(r.Deliveries) {
		out = append(out, d.failure())
	}
	slices.SortStableFunc(out, func(a, b Failure) int {
		return slices.Index(Stages(), a.Stage) - slices.Index(Stages(), b.Stage)
	})
	return out
}

// gaps returns what was not read or not evaluated. A rule that was skipped because of
// a kind that could not be read is no reason of its own.
func (r *Result) gaps() []Failure {
	var out []Failure
	unread := false
	for _, read := range r.Reads {
		if !read.Status.Known() {
			unread = true
			out = append(out, Failure{StageRead, string(read.Kind), readReason(read)})
		}
	}
	for _, f := range r.Faults {
		out = append(out, Failure{StageEvaluate, f.Ref.String(), "not evaluated: " + f.Reason})
	}
	for _, p := range r.Problems {
		out = append(out, Failure{StageRead, p.Where, p.Reason})
	}
	for _, o := range r.Rules {
		if o.Status == RuleFailed || o.Status != RuleRan && !unread {
			out = append(out, Failure{StageEvaluate, o.Rule, joined(string(o.Status), o.Reason)})
		}
	}
	return out
}

func readReason(r snapshot.Read) string { return joined(string(r.Status), strings.TrimSpace(r.Err)) }

func joined(word, reason string) string {
	if reason == "" {
		return word
	}
	return word + ": " + reason
}

// failure returns why a digest was not delivered.
func (d Delivery) failure() Failure {
	where := d.Sender
	if d.Owner != "" { // Events have no owner
		where = d.Owner + " by " + d.Sender
	}
	reason := joined(string(d.Result), d.Reason)
	if !d.NextTry.IsZero() {
		reason += ", next try after " + d.NextTry.UTC().Format(time.RFC3339) + " or with --retry-refused"
	}
	return Failure{StageDeliver, where, reason}
}
