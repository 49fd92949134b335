// Package workloads finds the workloads of a cluster that have pods, or will.
package workloads

import (
	"cmp"
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Workload is the topmost known controller of some pods, or a pod without a known
// controller.
type Workload struct {
	Meta *snapshot.Meta
	// Pods are what policies distinguish its pods by, each once: the live ones that a
	// policy can isolate, and those that its template will give it, unless it has
	// running pods of that kind.
	Pods []Pod
	// HostNetwork is true if some of its pods use the host's network, which no policy
	// isolates. They are not among Pods, and exempt none of these.
	HostNetwork bool
}

// Pod is what policies select pods by.
type Pod struct {
	Labels         snapshot.Labels
	ServiceAccount string // empty for snapshot.DefaultServiceAccount
}

func (w *Workload) add(pod Pod, hostNetwork bool) {
	if hostNetwork {
		w.HostNetwork = true
		return
	}
	if len(w.Pods) > 0 {
		key := pod.Labels.Key()
		same := func(p Pod) bool { return p.ServiceAccount == pod.ServiceAccount && p.Labels.Key() == key }
		if slices.ContainsFunc(w.Pods, same) {
			return
		}
	}
	w.Pods = append(w.Pods, pod)
}

// live is a workload while its pods are collected.
type live struct {
	Workload
	// running says whether pods run outside the host's network, and in it.
	running [2]bool
}

func (w *live) addPod(pod *snapshot.Pod) {
	w.add(Pod{pod.Labels, pod.ServiceAccount}, pod.HostNetwork)
	if !pod.Pending {
		w.running[network(pod.HostNetwork)] = true
	}
}

func network(host bool) int {
	if host {
		return 1
	}
	return 0
}

// Live returns the workloads that have pods or may still get some, by namespace,
// each list sorted by reference.
//
// Anyone who can create a pod decides what it says about itself: its labels, its
// network, its controller. So it speaks for no other pod, and instead of the template
// of its controller only once it runs.
func Live(v *snapshot.View) map[string][]*Workload {
	known := map[snapshot.Ref]*snapshot.Workload{}
	for w := range v.Workloads() {
		known[w.Ref()] = w
	}
	made := map[*snapshot.Workload]*live{}
	byNamespace := map[string][]*Workload{}
	for pod := range v.Pods() {
		if pod.Finished {
			continue
		}
		top := topmost(known, pod.Namespace, pod.Controller)
		if top == nil {
			alone := &Workload{Meta: &pod.Meta}
			alone.add(Pod{pod.Labels, pod.ServiceAccount}, pod.HostNetwork)
			byNamespace[pod.Namespace] = append(byNamespace[pod.Namespace], alone)
			continue
		}
		w := made[top]
		if w == nil {
			w = &live{Workload: Workload{Meta: &top.Meta}}
			made[top] = w
		}
		w.addPod(pod)
	}
	for w := range v.Workloads() {
		has := made[w]
		if has == nil {
			// Another one whose pods it makes counts instead.
			if by := above(known, w); !makesPods(w) || by != nil && makesPods(by) {
				continue
			}
			has = &live{Workload: Workload{Meta: &w.Meta}}
		}
		if makesPods(w) && !has.running[network(w.HostNetwork)] {
			has.add(Pod{templateLabels(w), w.ServiceAccount}, w.HostNetwork)
		}
		byNamespace[w.Namespace] = append(byNamespace[w.Namespace], &has.Workload)
	}
	for _, list := range byNamespace {
		slices.SortFunc(list, func(a, b *Workload) int { return a.Meta.Ref().Compare(b.Meta.Ref()) })
	}
	return byNamespace
}

// makesPods reports whether the template of a workload may still become pods. Controllers
// make none for a workload that is being deleted.
func makesPods(w *snapshot.Workload) bool { return !w.Finished && !w.Deleting() }

// topmost returns the highest known controller above a pod, or nil.
func topmost(known map[snapshot.Ref]*snapshot.Workload, namespace string, c snapshot.Controller) *snapshot.Workload {
	w := find(known, namespace, c)
	if w == nil {
		return nil
	}
	return cmp.Or(above(known, w), w)
}

// above returns the workload that makes another one, or nil. Only Deployments and
// CronJobs make workloads. Any other reference between two was written by hand, and
// may even be circular.
func above(known map[snapshot.Ref]*snapshot.Workload, w *snapshot.Workload) *snapshot.Workload {
	by := snapshot.Ref{Group: w.Controller.Group, Kind: w.Controller.Kind}
	switch (snapshot.Ref{Group: w.Group, Kind: w.Kind}) {
	case snapshot.Ref{Group: "apps", Kind: "ReplicaSet"}:
		if by != (snapshot.Ref{Group: "apps", Kind: "Deployment"}) {
			return nil
		}
	case snapshot.Ref{Group: "batch", Kind: "Job"}:
		if by != (snapshot.Ref{Group: "batch", Kind: "CronJob"}) {
			return nil
		}
	default:
		return nil
	}
	return find(known, w.Namespace, w.Controller)
}

// find returns the workload that a reference is to, or nil.
func find(known map[snapshot.Ref]*snapshot.Workload, namespace string, c snapshot.Controller) *snapshot.Workload {
	w := known[snapshot.Ref{Group: c.Group, Kind: c.Kind, Namespace: namespace, Name: c.Name}]
	if w == nil || !c.Is(w) {
		return nil
	}
	return w
}

// templateLabels returns the labels that the pods of a workload will have: those of
// its template and those that its controller adds. A value that is not known
// beforehand is empty, so that a policy that only requires the key selects it.
func templateLabels(w *snapshot.Workload) snapshot.Labels {
	switch w.Kind {
	case "Deployment":
		return w.PodLabels.With("pod-template-hash", "")
	case "StatefulSet":
		return w.PodLabels.With("statefulset.kubernetes.io/pod-name", w.Name+"-0",
			"apps.kubernetes.io/pod-index", "0", "controller-revision-hash", "")
	case "DaemonSet":
		return w.PodLabels.With("controller-revision-hash", "", "pod-template-generation", "")
	case "Job":
		return w.PodLabels.With("batch.kubernetes.io/job-name", w.Name, "job-name", w.Name,
			"batch.kubernetes.io/controller-uid", w.UID, "controller-uid", w.UID)
	case "CronJob":
		return w.PodLabels.With("batch.kubernetes.io/job-name", "", "job-name", "",
			"batch.kubernetes.io/controller-uid", "", "controller-uid", "")
	}
	return w.PodLabels
}
