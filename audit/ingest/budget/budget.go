// Package budget bounds what is kept of objects, so that nobody can end a sweep by what
// they write in their own namespace.
package budget

import (
	"fmt"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Limits bound what is kept of one object, and of those of one namespace and kind. An
// object that passes a limit is not evaluated. What is in no namespace has the limits of
// one object only. A field that is zero is the default.
type Limits struct {
	HostsPerObject, HostsPerNamespace   int // hosts, and what else says who serves them
	TermsPerObject, TermsPerNamespace   int // rules, peers, requirements, addresses and ports of policies
	LabelsPerObject, LabelsPerNamespace int // labels of pods, pod templates and Namespaces; equal sets count once
}

// DefaultLimits returns the limits that apply where none is set. A namespace at all of
// its limits takes about 30 MiB, rules included.
func DefaultLimits() Limits {
	return Limits{
		HostsPerObject: 2_000, HostsPerNamespace: 20_000,
		TermsPerObject: 20_000, TermsPerNamespace: 100_000,
		LabelsPerObject: 500, LabelsPerNamespace: 100_000,
	}
}

// Budget knows what was kept so far. It is not safe for concurrent use.
type Budget struct {
	limits Limits
	spent  map[string]amounts // by namespace
}

// New returns a Budget with the given limits.
func New(l Limits) *Budget {
	d := DefaultLimits()
	for _, f := range []struct{ set, to *int }{
		{&l.HostsPerObject, &d.HostsPerObject},
		{&l.HostsPerNamespace, &d.HostsPerNamespace},
		{&l.TermsPerObject, &d.TermsPerObject},
		{&l.TermsPerNamespace, &d.TermsPerNamespace},
		{&l.LabelsPerObject, &d.LabelsPerObject},
		{&l.LabelsPerNamespace, &d.LabelsPerNamespace},
	} {
		if *f.set > 0 {
			*f.to = *f.set
		}
	}
	return &Budget{limits: d, spent: map[string]amounts{}}
}

// amounts are how much is kept, by what the Limits bound.
type amounts struct {
	hosts, terms, labels int
	fresh                int // of the labels, those that no other object has
}

// CheckHosts returns an error for an object with more hosts than one may have, so that it
// need not be decoded.
func (b *Budget) CheckHosts(n int) error {
	if most := b.limits.HostsPerObject; n > most {
		return fmt.Errorf("it has %d hosts, more than the limit of %d (limits.hostsPerObject)", n, most)
	}
	return nil
}

// Charge counts the facts that one object added to others. fresh is how many of its labels
// no other object has. One that is refused costs its namespace nothing.
func (b *Budget) Charge(f, before *snapshot.Facts, fresh int) error {
	a, namespace := amountsOf(f, before, fresh)
	l := &b.limits
	for _, c := range []struct {
		what     string
		n, limit int
	}{{"hosts", a.hosts, l.HostsPerObject}, {"terms", a.terms, l.TermsPerObject}, {"labels", a.labels, l.LabelsPerObject}} {
		if c.n > c.limit {
			return fmt.Errorf("it has %d %s, more than the limit of %d (limits.%sPerObject)", c.n, c.what, c.limit, c.what)
		}
	}
	if namespace == "" {
		return nil
	}
	sum := b.spent[namespace]
	sum.hosts, sum.terms, sum.labels = sum.hosts+a.hosts, sum.terms+a.terms, sum.labels+a.fresh
	for _, c := range []struct {
		what        string
		n, of, most int
	}{
		{"hosts", a.hosts, sum.hosts, l.HostsPerNamespace},
		{"terms", a.terms, sum.terms, l.TermsPerNamespace},
		{"labels", a.fresh, sum.labels, l.LabelsPerNamespace},
	} {
		if c.n > 0 && c.of > c.most {
			return fmt.Errorf("with it, the objects of its kind in the namespace have more than the limit of %d %s (limits.%sPerNamespace)",
				c.most, c.what, c.what)
		}
	}
	b.spent[namespace] = sum
	return nil
}

// amountsOf returns how much is kept of the facts that were added, and their namespace.
func amountsOf(f, before *snapshot.Facts, fresh int) (a amounts, namespace string) {
	for _, o := range f.Ingresses[len(before.Ingresses):] {
		namespace = o.Namespace
		a.hosts += len(o.Hosts) + len(o.TLSHosts) + len(o.Unreadable) + len(o.Addresses)
	}
	for _, o := range f.Gateways[len(before.Gateways):] {
		namespace = o.Namespace
		a.hosts += listenersOf(o.Listeners)
	}
	for _, o := range f.ListenerSets[len(before.ListenerSets):] {
		namespace = o.Namespace
		a.hosts += listenersOf(o.Listeners)
	}
	for _, o := range f.Routes[len(before.Routes):] {
		namespace = o.Namespace
		a.hosts += len(o.Hostnames) + len(o.Parents) + hostsOf(o.Published)
	}
	for _, o := range f.HostObjects[len(before.HostObjects):] {
		namespace = o.Namespace
		a.hosts += hostsOf(&o)
	}
	for _, o := range f.IstioGateways[len(before.IstioGateways):] {
		namespace = o.Namespace
		a.hosts += len(o.Hosts)
	}
	for i := range f.Policies[len(before.Policies):] {
		o := &f.Policies[len(before.Policies)+i]
		namespace = o.Namespace
		a.terms += termsOf(o)
	}
	for _, o := range f.AddressSets[len(before.AddressSets):] {
		namespace = o.Namespace
		a.terms += len(o.CIDRs) + o.Labels.Len()
	}
	for _, o := range f.Pods[len(before.Pods):] {
		namespace = o.Namespace
		a.labels, a.fresh = o.Labels.Len(), fresh
	}
	for _, o := range f.Workloads[len(before.Workloads):] {
		namespace = o.Namespace
		a.labels, a.fresh = o.PodLabels.Len(), fresh
	}
	for _, o := range f.Namespaces[len(before.Namespaces):] {
		a.labels += o.Labels.Len()
	}
	return a, namespace
}

func listenersOf(list []snapshot.Listener) int {
	n := len(list)
	for i := range list {
		n += len(list[i].Kinds) + termsOfSelector(list[i].AllowedRoutes.Selector)
	}
	return n
}

func hostsOf(o *snapshot.HostObject) int {
	if o == nil {
		return 0
	}
	n := len(o.Hosts) + len(o.Invalid)
	for i := range o.Bindings {
		n += 1 + len(o.Bindings[i].Lanes)
	}
	return n
}

func termsOf(p *snapshot.Policy) int {
	n := termsOfPods(p.Subject)
	for d := range p.Rules {
		for _, list := range [][]snapshot.Rule{p.Denies[d], p.Rules[d]} {
			for i := range list {
				n += termsOfRule(&list[i])
			}
		}
	}
	return n
}

func termsOfRule(r *snapshot.Rule) int {
	n := 1 + len(r.Ports.Ranges) + termsOfPods(r.Peers.Pods)
	for _, c := range r.Peers.CIDRs {
		n += 1 + len(c.Except)
	}
	for i := range r.Peers.Sets {
		s := &r.Peers.Sets[i]
		n += 1 + len(s.Within) + len(s.Except)
		for _, labels := range s.Labels {
			n += termsOfSelector(labels)
		}
	}
	for _, s := range r.Peers.NotSets {
		n += termsOfSelector(s)
	}
	return n
}

func termsOfPods(list []snapshot.PodPeer) int {
	n := len(list)
	for i := range list {
		n += termsOfSelector(list[i].Namespaces) + termsOfSelector(list[i].Pods)
	}
	return n
}

func termsOfSelector(s snapshot.Selector) int {
	n := len(s)
	for i := range s {
		n += len(s[i].Values)
	}
	return n
}
