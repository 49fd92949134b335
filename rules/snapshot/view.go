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
// Reading an undeclared kind panics: the rule would evaluate a kind that no one
// checked was read completely. A View is for one goroutine.
type View struct {
	s    *Snapshot
	open map[Kind]bool
	read map[Kind]bool
}

// Asked returns the kinds that were read so far, sorted.
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

// IngressClassParams yields the parameters of IngressClasses, of both AWS controllers.
func (v *View) IngressClassParams() iter.Seq[*IngressClassParams] {
	v.ask(AWSIngressClassParams, EKSIngressClassParams)
	return each(v.s.facts.ClassParams)
}

// Gateways yields every Gateway.
func (v *View) Gateways() iter.Seq[*Gateway] {
	v.ask(Gateways)
	return each(v.s.facts.Gateways)
}

// ListenerSets yields every ListenerSet and every XListenerSet.
func (v *View) ListenerSets() iter.Seq[*ListenerSet] {
	v.ask(ListenerSets, XListenerSets)
	return each(v.s.facts.ListenerSets)
}

// Routes yields every HTTPRoute, GRPCRoute and TLSRoute.
func (v *View) Routes() iter.Seq[*Route] {
	v.ask(GRPCRoutes, HTTPRoutes, TLSRoutes)
	return each(v.s.facts.Routes)
}

// Policies yields every policy for pod traffic, whatever its engine; it reads all
// of PolicyKinds. A policy's Tier is that of its Tier object.
func (v *View) Policies() iter.Seq[*Policy] {
	v.ask(PolicyKinds()...)
	return each(v.s.facts.Policies)
}

// AddressSets yields every named set of addresses; it reads all of AddressSetKinds.
func (v *View) AddressSets() iter.Seq[*AddressSet] {
	v.ask(AddressSetKinds()...)
	return each(v.s.facts.AddressSets)
}

// Enforcements yields what disables the enforcement of policies.
func (v *View) Enforcements() iter.Seq[*Enforcement] {
	v.ask(CiliumConfigs)
	return each(v.s.facts.Enforcements)
}

// Unsupported yields where policies of unsupported kinds are, sorted by namespace
// and kind; it reads all of PolicyKinds.
func (v *View) Unsupported() iter.Seq[*Unsupported] {
	v.ask(PolicyKinds()...)
	return each(v.s.facts.Unsupported)
}

// AdmissionControls yields every admission control, and AdmissionBindings what
// binds those that are policies. Both read all of AdmissionKinds.
func (v *View) AdmissionControls() iter.Seq[*AdmissionControl] {
	v.ask(AdmissionKinds()...)
	return each(v.s.facts.AdmissionControls)
}

// GateBindings yields every binding of a ValidatingAdmissionPolicy.
func (v *View) AdmissionBindings() iter.Seq[*AdmissionBinding] {
	v.ask(AdmissionKinds()...)
	return each(v.s.facts.AdmissionBindings)
}

// ConstraintTemplates yields every template of Gatekeeper.
func (v *View) ConstraintTemplates() iter.Seq[*ConstraintTemplate] {
	v.ask(ConstraintTemplates)
	return each(v.s.facts.Templates)
}

// Replications yields every object that tells Gatekeeper what to replicate.
func (v *View) Replications() iter.Seq[*Replication] {
	v.ask(GatekeeperConfigs, SyncSets)
	return each(v.s.facts.Replications)
}

// Known reports whether each of the kinds, which the rule declares, was read
// completely. It is for kinds that a rule can do without.
func (v *View) Known(kinds ...Kind) bool {
	v.ask(kinds...)
	for _, k := range kinds {
		if !v.s.Status(k).Known() {
			return false
		}
	}
	return true
}

// WorkloadKinds are the kinds whose objects create pods, sorted.
func WorkloadKinds() []Kind {
	return []Kind{
		CronJobs, DaemonSets, Deployments, Jobs, ReplicaSets, ReplicationControllers, StatefulSets,
	}
}

// Workloads yields every object that creates pods; it reads all of WorkloadKinds.
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

// HostObjects yields every object of the kinds behind HostSources.
func (v *View) HostObjects() iter.Seq[*HostObject] {
	v.ask(HostSources)
	return each(v.s.facts.HostObjects)
}

// UnreadHosts yields where objects are that carry hosts and were not read, sorted by kind
// and namespace.
func (v *View) UnreadHosts() iter.Seq[*UnreadHosts] {
	v.ask(HostSources)
	return each(v.s.facts.UnreadHosts)
}

// IstioGateways yields every Gateway of Istio.
func (v *View) IstioGateways() iter.Seq[*IstioGateway] {
	v.ask(IstioGateways)
	return each(v.s.facts.IstioGateways)
}

// Faults yields the objects that could not be read, of the kinds that the rule declares,
// sorted by object.
func (v *View) Faults() iter.Seq[*Fault] {
	return func(yield func(*Fault) bool) {
		for f := range each(v.s.facts.Faults) {
			if v.Declares(f.Resource) && !yield(f) {
				return
			}
		}
	}
}

// Declares reports whether the rule declares a kind, or one that stands for it.
func (v *View) Declares(kind Kind) bool {
	if v.open[kind] {
		return true
	}
	for stands, parts := range v.s.parts {
		if v.open[stands] && slices.Contains(parts, kind) {
			return true
		}
	}
	return false
}
