package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// selectorIndex finds the items whose selector matches some labels, without
// trying all of them.
type selectorIndex[T any] struct {
	byLabel map[string][]selected[T] // by key and value of one label that is required
	rest    []selected[T]            // those that require none
}

type selected[T any] struct {
	by   snapshot.Selector
	item T
}

func (x *selectorIndex[T]) add(by snapshot.Selector, item T) {
	if x.byLabel == nil {
		x.byLabel = map[string][]selected[T]{}
	}
	for _, r := range by {
		if r.Op == snapshot.In {
			for _, value := range r.Values {
				key := r.Key + "\x00" + value
				x.byLabel[key] = append(x.byLabel[key], selected[T]{by, item})
			}
			return
		}
	}
	x.rest = append(x.rest, selected[T]{by, item})
}

// each calls a function for each item whose selector matches.
func (x *selectorIndex[T]) each(labels snapshot.Labels, found func(T)) {
	try := func(list []selected[T]) {
		for _, s := range list {
			if s.by.Matches(labels) {
				found(s.item)
			}
		}
	}
	try(x.rest)
	if len(x.byLabel) > 0 {
		for key, value := range labels.All() {
			try(x.byLabel[key+"\x00"+value])
		}
	}
}

// part is one part of the subject of a policy.
type part struct {
	policy *snapshot.Policy
	pods   snapshot.Selector
}

// policyIndex finds the policies that may select pods of a namespace.
type policyIndex struct {
	own      map[string][]part // by namespace
	clusters selectorIndex[part]
}

func newPolicyIndex(v *snapshot.View) *policyIndex {
	x := &policyIndex{own: map[string][]part{}}
	for p := range v.Policies() {
		if p.Invalid != "" && p.Namespace != "" && len(p.Subject) == 0 {
			x.own[p.Namespace] = append(x.own[p.Namespace], part{policy: p})
			continue
		}
		for _, s := range p.Subject {
			if s.OwnNamespace {
				x.own[p.Namespace] = append(x.own[p.Namespace], part{p, s.Pods})
			} else {
				x.clusters.add(s.Namespaces, part{p, s.Pods})
			}
		}
	}
	return x
}

// in returns the parts that are about a namespace, in the order in which their
// policies are consulted.
func (x *policyIndex) in(namespace string, labels snapshot.Labels) []part {
	parts := slices.Clone(x.own[namespace])
	x.clusters.each(labels.With(namespaceName, namespace), func(p part) { parts = append(parts, p) })
	slices.SortStableFunc(parts, func(a, b part) int { return comparePolicies(a.policy, b.policy) })
	return parts
}

// comparePolicies orders policies as they are consulted.
func comparePolicies(a, b *snapshot.Policy) int {
	return cmp.Or(cmp.Compare(a.Tier, b.Tier), strings.Compare(tierName(a), tierName(b)), cmp.Compare(a.Order, b.Order),
		strings.Compare(a.Name, b.Name), a.Ref().Compare(b.Ref()), cmp.Compare(a.Part, b.Part))
}

// tierName returns what tiers of equal order are sorted by. The tier of Kubernetes'
// own policies has a name among those that have objects.
func tierName(p *snapshot.Policy) string { return cmp.Or(p.TierName, "default") }

// sameTier reports whether two policies are in one tier.
func sameTier(a, b *snapshot.Policy) bool { return a.Tier == b.Tier && a.TierName == b.TierName }
