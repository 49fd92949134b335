package isolation

import (
	"fmt"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// The causes that a finding of this rule can have.
const (
	causeDenyDeleted = "deny-deleted"
	causeWorkload    = "workload-first"
	causeUnknown     = "undetermined"
)

// denyCause says what is known of how a direction came to be open, and when the
// exposed workloads came. Policies leave no trace when they are deleted, so most
// of it can be told only by who looked before.
func (n *namespaceDenial) denyCause(v *rules.Violation, d snapshot.Direction, before rules.Previous, exposed []rules.Object) string {
	if len(exposed) == 0 {
		return ""
	}
	var cause string
	first := n.denials[d].firstPolicy()
	_, newest := rules.Span(exposed)
	switch {
	case v.Verdict == "defeated":
		cause = n.openSince(d)
	case before.State == rules.Present:
		cause = fmt.Sprintf("%s: a sweep at %s saw %s denied by default here. Since then the policy was deleted or narrowed.",
			causeDenyDeleted, rules.Timestamp(before.At), strings.ToLower(d.String()))
	case first != nil && !newest.IsZero() && newest.Before(first.Created):
		cause = fmt.Sprintf("%s: the exposed workloads were there before the first policy, %s of %s.",
			causeWorkload, first.Ref(), rules.Timestamp(first.Created))
	default:
		cause = causeUnknown + ": whether a policy that denies was ever there cannot be told from what is stored."
	}
	return cause + " " + rules.Arrivals("exposed", exposed)
}

// openSince says since when, at the earliest, a direction can have been open
// again.
func (n *namespaceDenial) openSince(d snapshot.Direction) string {
	var last *snapshot.Policy
	for _, o := range n.denials[d].openers {
		if last == nil || o.Policy.Created.After(last.Created) {
			last = o.Policy
		}
	}
	if last == nil || last.Created.IsZero() {
		return causeUnknown + ": since when it is open is not known."
	}
	return fmt.Sprintf("It is open through %s, which came %s.", last.Ref(), rules.Timestamp(last.Created))
}

// firstPolicy returns the oldest policy that bears on the direction, nil if there
// is none or the age of one is not known.
func (n *denial) firstPolicy() *snapshot.Policy {
	var first *snapshot.Policy
	for _, p := range n.set.Policies() {
		if p.Created.IsZero() {
			return nil
		}
		if first == nil || p.Created.Before(first.Created) {
			first = p
		}
	}
	return first
}
