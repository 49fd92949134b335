package snapshot

import (
	"fmt"
	"iter"
	"maps"
	"slices"
)

// View serves the facts of declared kinds, sorted by namespace, name and kind.
// What it yields belongs to the snapshot and must not be changed.
//
// Asking it for another kind panics: such a rule would judge a kind that
// nobody checked was read completely. A View is for one goroutine.
type View struct {
	s    *Snapshot
	open map[Kind]bool
	read map[Kind]bool
}

// Asked returns the kinds that were asked for so far, sorted.
func (v *View) Asked() []Kind { return slices.Sorted(maps.Keys(v.read)) }

func (v *View) ask(kinds ...Kind) {
	for _, k := range kinds {
		if !v.open[k] {
			panic(fmt.Sprintf("read of %s, which the rule does not declare", k))
		}
		v.read[k] = true
	}
}

// Namespaces yields every Namespace.
func (v *View) Namespaces() iter.Seq[*Namespace] {
	v.ask(Namespaces)
	return each(v.s.facts.Namespaces)
}

// Namespace returns the Namespace of that name, or nil.
func (v *View) Namespace(name string) *Namespace {
	v.ask(Namespaces)
	return v.s.Namespace(name)
}

// Ingresses yields every Ingress.
func (v *View) Ingresses() iter.Seq[*Ingress] {
	v.ask(Ingresses)
	return each(v.s.facts.Ingresses)
}

// IngressClasses yields every IngressClass.
func (v *View) IngressClasses() iter.Seq[*IngressClass] {
	v.ask(IngressClasses)
	return each(v.s.facts.IngressClasses)
}

// NetworkPolicies yields every NetworkPolicy of networking.k8s.io.
func (v *View) NetworkPolicies() iter.Seq[*Policy] {
	v.ask(NetworkPolicies)
	return each(v.s.facts.Policies)
}

// WorkloadKinds are the kinds whose objects make pods, sorted.
func WorkloadKinds() []Kind {
	return []Kind{
		CronJobs, DaemonSets, Deployments, Jobs, ReplicaSets, ReplicationControllers, StatefulSets,
	}
}

// Workloads yields every object that makes pods; it asks for all of
// WorkloadKinds.
func (v *View) Workloads() iter.Seq[*Workload] {
	v.ask(WorkloadKinds()...)
	return each(v.s.facts.Workloads)
}

// Pods yields every Pod.
func (v *View) Pods() iter.Seq[*Pod] {
	v.ask(Pods)
	return each(v.s.facts.Pods)
}

// each yields pointers to the facts, so that big ones are not copied.
func each[F any](facts []F) iter.Seq[*F] {
	return func(yield func(*F) bool) {
		for i := range facts {
			if !yield(&facts[i]) {
				return
			}
		}
	}
}
