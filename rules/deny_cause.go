package rules

import (
	"fmt"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// denyCause says what is known of how a direction came to be open, and when the
// exposed workloads came. Policies leave no trace when they are deleted, so most
// of it can be told only by who looked before.
func (n *namespaceDenial) denyCause(v *Violation, d snapshot.Direction, before Previous, exposed []Object) string {
	if len(exposed) == 0 {
		return ""
	}
	var cause string
	first := n.denials[d].firstPolicy()
	_, newest := span(exposed)
	switch {
	case v.Verdict == "defeated":
		cause = n.openSince(d)
	case before.State == Present:
		cause = fmt.Sprintf("%s: a sweep at %s saw %s denied by default here. Since then the policy was deleted or narrowed.",
			causeDenyDeleted, moment(before.At), strings.ToLower(d.String()))
	case first != nil && !newest.IsZero() && newest.Before(first.Created):
		cause = fmt.Sprintf("%s: the exposed workloads were there before the first policy, %s of %s.",
			causeWorkload, first.Ref(), moment(first.Created))
	default:
		cause = causeUndetermined + ": whether a policy that denies was ever there cannot be told from what is stored."
	}
	return cause + " " + arrivals("exposed", exposed)
}

// openSince says since when, at the earliest, a direction can have been open
// again.
func (n *namespaceDenial) openSince(d snapshot.Direction) string {
	var last *snapshot.Policy
	for _, o := range n.denials[d].openers {
		if last == nil || o.policy.Created.After(last.Created) {
			last = o.policy
		}
	}
	if last == nil || last.Created.IsZero() {
		return causeUndetermined + ": since when it is open is not known."
	}
	return fmt.Sprintf("It is open through %s, which came %s.", last.Ref(), moment(last.Created))
}

// firstPolicy returns the oldest policy that bears on the direction, nil if there
// is none or the age of one is not known.
func (n *denial) firstPolicy() *snapshot.Policy {
	var first *snapshot.Policy
	for _, p := range n.policies {
		if p.Created.IsZero() {
			return nil
		}
		if first == nil || p.Created.Before(first.Created) {
			first = p.Policy
		}
	}
	return first
}
