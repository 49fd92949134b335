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
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/eventuallytrue/audit/rules"
	"github.com/eventuallytrue/audit/rules/snapshot"
	"github.com/eventuallytrue/audit/rules/workloads"
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
	doubts []Doubt // what is not known about the pods
	// possible is true of a part for pods that could exist alone: which existing pods
	// it selects is not known, and existing is true of the parts for these.
	possible, existing bool
	// only are the readings that the part is in, nil for all.
	only []reading
}

// in returns the policy of the part in a reading, nil if it has none in it.
func (p *part) in(r reading) *compiledPolicy {
	if p.only != nil && !slices.Contains(p.only, r) {
		return nil
	}
	if other := p.policy.others[r]; other != nil {
		return other
	}
	return p.policy
}

// Policies are the policies of a cluster, indexed by the namespaces whose pods they
// may select.
type Policies struct {
	own        map[string][]part // by namespace
	unread     map[string][]part // by namespace: of policies of unsupported kinds
	everywhere []part            // of policies for every namespace
	clusters   selectorIndex[part]
	places     int // of parts
	// sets caches the Sets of namespaces without policies of their own, by the parts
	// that apply to them but not to every namespace.
	sets map[string][2]*Set
	// faults are the policies that could not be compiled.
	faults []snapshot.Fault
}

// Faults returns the policies that could not be compiled: what they do is not known.
func (x *Policies) Faults() []snapshot.Fault { return x.faults }

// Compile returns the policies of a snapshot with these workloads.
func Compile(v *snapshot.View, live map[string][]*workloads.Workload) *Policies {
	x := &Policies{own: map[string][]part{}, unread: map[string][]part{}, sets: map[string][2]*Set{}}
	off := map[snapshot.Kind]*snapshot.Enforcement{}
	for e := range v.Enforcements() {
		if e.Kind != "" && off[e.Kind] == nil {
			off[e.Kind] = e
		}
	}
	x.restrict(v)
	sets := newAddressSets(v)
	sets.existing = newInhabitants(v, live)
	for i, policy := range slices.SortedFunc(v.Policies(), comparePolicies) {
		var p *compiledPolicy
		if err := rules.Safely(func() { p = compilePolicy(policy, i, sets) }); err != nil {
			x.faults = append(x.faults, snapshot.Fault{
				Ref: policy.Ref(), Resource: policy.Resource(), Subject: policy.Subject, Reason: fmt.Sprintf("it could not be evaluated: %v", err),
			})
			continue
		}
		if len(off) > 0 {
			p.off = off[p.Resource()]
		}
		if p.Invalid != "" && p.Namespace != "" && len(p.Subject) == 0 {
			x.add(p, snapshot.PodPeer{OwnNamespace: true}, part{policy: p})
			continue
		}
		x.addSubject(p)
	}
	return x
}

// restrict adds what policies of unsupported kinds may deny.
func (x *Policies) restrict(v *snapshot.View) {
	all := readings()
	closed := slices.DeleteFunc(all[:], func(r reading) bool { return !r.closed })
	for u := range v.Unsupported() {
		if !u.Restricts {
			continue
		}
		p := restricting(u, -1)
		made := part{place: x.places, policy: p, only: closed}
		made.doubts = []Doubt{{Kind: u.Kind}}
		x.places++
		if u.Namespace == "" {
			x.everywhere = append(x.everywhere, made)
		} else {
			x.unread[u.Namespace] = append(x.unread[u.Namespace], made)
		}
	}
}

// addSubject adds the parts of the subject of a policy. Where it depends on the labels
// of ServiceAccounts, or on those that only Cilium knows, further parts are for the pods that it may select.
func (x *Policies) addSubject(p *compiledPolicy) {
	doubts := []Doubt{{Kind: "serviceaccounts", Why: "labels of ServiceAccounts are not read"}}
	if p.Group == snapshot.CiliumNetworkPolicies.Group() {
		doubts = []Doubt{{Kind: snapshot.CiliumConfigs, Why: "the name of the cluster, and which labels of pods Cilium ignores, are not read"}}
	}
	var doubtful []snapshot.PodPeer
	for _, s := range p.Subject {
		made := part{policy: p, pods: s.Pods}
		if rest, ok := selectsByAccountLabels(s.Pods); ok {
			made.possible, made.doubts = true, doubts
			s.Pods = rest
			doubtful = append(doubtful, s)
		}
		x.add(p, s, made)
	}
	if len(doubtful) == 0 {
		return
	}
	for _, r := range readings() {
		// Who writes a policy may choose what only Cilium knows, so that it selects none.
		if r.closed && p.Group == snapshot.CiliumNetworkPolicies.Group() {
			continue
		}
		q := cmp.Or(p.others[r], p).maybe(r)
		for _, s := range doubtful {
			x.add(p, s, part{policy: q, pods: s.Pods, existing: true, only: []reading{r}})
		}
	}
}

// add adds a part of a policy for the namespaces of a peer.
func (x *Policies) add(p *compiledPolicy, s snapshot.PodPeer, made part) {
	made.place = x.places
	x.places++
	switch {
	case s.OwnNamespace:
		x.own[p.Namespace] = append(x.own[p.Namespace], made)
	case len(s.Namespaces) == 0:
		x.everywhere = append(x.everywhere, made)
	default:
		x.clusters.add(s.Namespaces, made)
	}
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
	if unread := x.unread[namespace]; len(unread) > 0 {
		own = slices.Concat(unread, own)
	}
	if r, ok := x.sets[string(key)]; ok && len(own) == 0 {
		return r
	}
	parts := slices.Concat(own, some, x.everywhere)
	slices.SortFunc(parts, byPlace)
	var made [2]*Set
	for _, d := range snapshot.Directions() {
		all := readings()
		made[d] = newSet(parts, d, all[0])
		if made[d].Doubts = doubtsOf(parts, d); len(made[d].Doubts) > 0 {
			for _, r := range all[1:] {
				made[d].Others = append(made[d].Others, newSet(parts, d, r))
			}
		}
	}
	if len(own) == 0 {
		x.sets[string(key)] = made
	}
	return made
}

// doubtsOf returns what is not known about the parts of policies in a direction, sorted.
func doubtsOf(parts []part, d snapshot.Direction) []Doubt {
	var out []Doubt
	for _, p := range parts {
		if p.policy.affects(d) {
			out = append(out, p.policy.doubts[d]...)
			out = append(out, p.doubts...)
		}
	}
	if len(out) == 0 {
		return nil
	}
	slices.SortFunc(out, func(a, b Doubt) int {
		return cmp.Or(strings.Compare(string(a.Kind), string(b.Kind)), strings.Compare(a.Why, b.Why))
	})
	return slices.Compact(out)
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
