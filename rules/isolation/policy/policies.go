// Package policy evaluates the policies of a cluster, whatever engine enforces
// them: for any pod there could be in a namespace, whether it is isolated in a
// direction, and what opens it.
//
// Compile reads the policies of a snapshot. Policies.For returns the Set of those
// that are about a namespace in each direction, which says what it does to every
// pod, and to a pod with some labels.
package policy

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// selectorIndex finds the items whose selector matches some labels without trying
// all of them.
type selectorIndex[T any] struct {
	byLabel map[string][]selected[T] // by key and value of one required label
	byKey   map[string][]selected[T] // by the key of one label that must be present
	rest    []selected[T]            // those that require no label
}

type selected[T any] struct {
	by   snapshot.Selector
	item T
}

func (x *selectorIndex[T]) add(by snapshot.Selector, item T) {
	if x.byLabel == nil {
		x.byLabel, x.byKey = map[string][]selected[T]{}, map[string][]selected[T]{}
	}
	it := selected[T]{by, item}
	if i := slices.IndexFunc(by, func(r snapshot.Requirement) bool { return r.Op == snapshot.In }); i >= 0 {
		for _, value := range by[i].Values {
			key := by[i].Key + "\x00" + value
			x.byLabel[key] = append(x.byLabel[key], it)
		}
		return
	}
	if i := slices.IndexFunc(by, snapshot.Requirement.Positive); i >= 0 {
		x.byKey[by[i].Key] = append(x.byKey[by[i].Key], it)
		return
	}
	x.rest = append(x.rest, it)
}

func (x *selectorIndex[T]) empty() bool { return len(x.byLabel)+len(x.byKey)+len(x.rest) == 0 }

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
	if len(x.byLabel)+len(x.byKey) == 0 {
		return
	}
	for key, value := range labels.All() {
		try(x.byLabel[key+"\x00"+value])
		try(x.byKey[key])
	}
}

// part is one part of the subject of a policy.
type part struct {
	place  int // its position among all parts, in order of the policies
	policy *compiledPolicy
	pods   snapshot.Selector
}

// Policies are the policies of a cluster, indexed by the namespaces whose pods they
// may select.
type Policies struct {
	own        map[string][]part // by namespace
	everywhere []part            // of policies for every namespace
	clusters   selectorIndex[part]
	// sets caches the Sets of namespaces without policies of their own, by the parts
	// that apply to them but not to every namespace.
	sets map[string][2]*Set
}

// Compile returns the policies of a snapshot.
func Compile(v *snapshot.View) *Policies {
	x := &Policies{own: map[string][]part{}, sets: map[string][2]*Set{}}
	places := 0
	for i, policy := range slices.SortedFunc(v.Policies(), comparePolicies) {
		p := compilePolicy(policy, i)
		if p.Invalid != "" && p.Namespace != "" && len(p.Subject) == 0 {
			x.own[p.Namespace] = append(x.own[p.Namespace], part{places, p, nil})
			places++
			continue
		}
		for _, s := range p.Subject {
			made := part{places, p, s.Pods}
			places++
			switch {
			case s.OwnNamespace:
				x.own[p.Namespace] = append(x.own[p.Namespace], made)
			case len(s.Namespaces) == 0:
				x.everywhere = append(x.everywhere, made)
			default:
				x.clusters.add(s.Namespaces, made)
			}
		}
	}
	return x
}

// Namespaces yields the namespaces that have policies of their own.
func (x *Policies) Namespaces() iter.Seq[string] { return maps.Keys(x.own) }

// For returns the Set of a namespace with these labels, by direction. Namespaces
// with the same policies share it.
func (x *Policies) For(namespace string, labels snapshot.Labels) [2]*Set {
	var some []part
	x.clusters.each(labels.With(snapshot.NamespaceNameLabel, namespace), func(p part) { some = append(some, p) })
	byPlace := func(a, b part) int { return a.place - b.place }
	slices.SortFunc(some, byPlace)
	own := x.own[namespace]
	var key []byte
	for _, p := range some {
		key = append(strconv.AppendInt(key, int64(p.place), 36), ' ')
	}
	if r, ok := x.sets[string(key)]; ok && len(own) == 0 {
		return r
	}
	parts := slices.Concat(own, some, x.everywhere)
	slices.SortFunc(parts, byPlace)
	var made [2]*Set
	for _, d := range snapshot.Directions() {
		made[d] = newSet(parts, d)
	}
	if len(own) == 0 {
		x.sets[string(key)] = made
	}
	return made
}

// comparePolicies orders policies as engines consult them.
func comparePolicies(a, b *snapshot.Policy) int {
	return cmp.Or(cmp.Compare(a.Tier, b.Tier), strings.Compare(tierName(a), tierName(b)), cmp.Compare(a.Order, b.Order),
		strings.Compare(a.Name, b.Name), a.Ref().Compare(b.Ref()), cmp.Compare(a.Part, b.Part))
}

// tierName returns the key that sorts tiers of equal order. Kubernetes' own
// policies are in the tier that Calico calls default.
func tierName(p *snapshot.Policy) string { return cmp.Or(p.TierName, "default") }

// sameTier reports whether two policies are in one tier.
func sameTier(a, b *compiledPolicy) bool { return a.Tier == b.Tier && a.TierName == b.TierName }
