package isolation_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// without returns clusters that lack a pod, a policy or a rule of this one.
func (c tierCluster) without() (list []tierCluster) {
	for i := range c.Pods {
		list = append(list, tierCluster{slices.Delete(slices.Clone(c.Pods), i, i+1), c.Policies})
	}
	for i := range c.Policies {
		list = append(list, tierCluster{c.Pods, slices.Delete(slices.Clone(c.Policies), i, i+1)})
		change := func(with func(*snapshot.Policy)) {
			less := tierCluster{c.Pods, slices.Clone(c.Policies)}
			with(&less.Policies[i])
			list = append(list, less)
		}
		for _, d := range snapshot.Directions() {
			if c.Policies[i].Isolates[d] {
				change(func(p *snapshot.Policy) { p.Isolates[d] = false })
			}
			for k := range c.Policies[i].Rules[d] {
				change(func(p *snapshot.Policy) { p.Rules[d] = slices.Delete(slices.Clone(p.Rules[d]), k, k+1) })
			}
			for k := range c.Policies[i].Denies[d] {
				change(func(p *snapshot.Policy) { p.Denies[d] = slices.Delete(slices.Clone(p.Denies[d]), k, k+1) })
			}
		}
	}
	return list
}

// shrink takes away whatever it can while the judges still differ.
func (c tierCluster) shrink() tierCluster {
	for smaller := true; smaller; {
		smaller = false
		for _, less := range c.without() {
			if less.differ() != "" {
				c, smaller = less, true
				break
			}
		}
	}
	return c
}

// String returns the policies as they are consulted.
func (c tierCluster) String() string {
	lines := []string{fmt.Sprintf("pods %v", c.Pods)}
	for _, p := range c.inOrder() {
		lines = append(lines, fmt.Sprintf("%s %q tier %g order %g subject %+v isolates %v", p.Name, p.Namespace, p.Tier, p.Order, p.Subject, p.Isolates))
		for _, d := range snapshot.Directions() {
			for _, r := range slices.Concat(p.Denies[d], p.Rules[d]) {
				lines = append(lines, fmt.Sprintf("  %s %s %+v on %+v narrow %v", d, []string{"allow", "deny", "pass"}[r.Action], r.Peers, r.Ports, r.Narrow))
			}
		}
	}
	return strings.Join(lines, "\n")
}
