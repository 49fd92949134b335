package calico

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// policyDraft is a policy on its way to the common form, in which all rules of a policy
// apply to all of its pods.
type policyDraft struct {
	policy   snapshot.Policy
	subject  *expr
	rules    [2][]ruleDraft
	doubtful bool // the subject is a guess, and too wide
}

// maxSplits bounds the conditions that a policy is split by. Each of them doubles the
// number of parts.
const maxSplits = 3

// policies returns the policies that the draft amounts to. One whose rules apply to
// different pods is split by their conditions: a part for each combination, so that every
// pod is in exactly one part, with the rules that apply to it.
func (c *policyDraft) policies() []snapshot.Policy {
	parts, err := c.split(c.conditions())
	if err != nil {
		c.dropConditions()
		parts, err = c.split(nil)
	}
	if err != nil {
		c.subject, c.doubtful = &expr{op: opAll}, true
		parts, _ = c.split(nil) // everything is never too complex
	}
	for i := range parts {
		parts[i].Part = i
		if c.doubtful {
			// It is unknown which pods it isolates, so it is assumed to isolate none and
			// to open all that it may.
			parts[i].Isolates = [2]bool{}
			for d, rules := range parts[i].Rules {
				parts[i].Rules[d] = slices.DeleteFunc(rules, func(r snapshot.Rule) bool { return r.Action == snapshot.Deny })
			}
		}
	}
	return parts
}

// conditions returns the conditions of the rules on the policy's own pods, each once. Rules
// with conditions that cannot be checked become rules for all pods.
func (c *policyDraft) conditions() []ruleDraft {
	var out []ruleDraft
	seen := map[string]bool{}
	for d := range c.rules {
		for i := range c.rules[d] {
			r := &c.rules[d][i]
			if r.own == nil {
				continue
			}
			if _, err := r.own.terms(podEndpoints, false); err != nil {
				r.own = nil
				r.doubt()
				continue
			}
			if !seen[r.text] {
				seen[r.text] = true
				out = append(out, *r)
			}
		}
	}
	return out
}

// dropConditions makes all rules apply to all pods.
func (c *policyDraft) dropConditions() {
	for d := range c.rules {
		for i := range c.rules[d] {
			if r := &c.rules[d][i]; r.own != nil {
				r.own = nil
				r.doubt()
			}
		}
	}
}

// split returns a policy for each combination of the conditions that may match a pod.
func (c *policyDraft) split(conditions []ruleDraft) ([]snapshot.Policy, error) {
	if len(conditions) > maxSplits {
		return nil, errTooComplex
	}
	var parts []snapshot.Policy
	for mask := range 1 << len(conditions) {
		subject := &expr{op: opAnd, of: []*expr{c.subject}}
		met := map[string]bool{}
		for i, condition := range conditions {
			e := condition.own
			if met[condition.text] = mask>>i&1 == 1; !met[condition.text] {
				e = &expr{op: opNot, of: []*expr{e}}
			}
			subject.of = append(subject.of, e)
		}
		terms, err := subject.terms(podEndpoints, false)
		if err != nil {
			return nil, err
		}
		if len(terms.list) == 0 && len(conditions) > 0 {
			continue
		}
		part := c.policy
		part.Subject = terms.subject(part.Namespace)
		for d := range part.Rules {
			for _, r := range c.rules[d] {
				if r.own == nil || met[r.text] {
					part.Rules[d] = append(part.Rules[d], r.rule)
				}
			}
		}
		parts = append(parts, part)
	}
	return parts, nil
}
