// Package workloads finds the workloads of a cluster that have pods, or will.
package workloads

import (
	"slices"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Workload is the topmost known controller of some pods, or a pod without a known
// controller.
type Workload struct {
	Meta *snapshot.Meta
	// Pods are what policies distinguish its live pods by, each once, or what its
	// template gives new pods if it has none.
	Pods []Pod
	// HostNetwork is true if the pods use the host's network, which no policy
	// isolates.
	HostNetwork bool
}

// Pod is what policies select pods by.
type Pod struct {
	Labels         snapshot.Labels
	ServiceAccount string // empty for snapshot.DefaultServiceAccount
}

func (w *Workload) addPod(pod *snapshot.Pod) {
	// A workload counts as using the host's network if one of its pods does, so that
	// it is never reported as isolated.
	w.HostNetwork = w.HostNetwork || pod.HostNetwork
	key := pod.Labels.Key()
	same := func(p Pod) bool { return p.ServiceAccount == pod.ServiceAccount && p.Labels.Key() == key }
	if !slices.ContainsFunc(w.Pods, same) {
		w.Pods = append(w.Pods, Pod{pod.Labels, pod.ServiceAccount})
	}
}

// Live returns the workloads that have pods or may still get some, by namespace,
// each list sorted by reference.
func Live(v *snapshot.View) map[string][]*Workload {
	known := map[snapshot.Ref]*snapshot.Workload{}
	for w := range v.Workloads() {
		known[w.Ref()] = w
	}
	made := map[*snapshot.Workload]*Workload{}
	byNamespace := map[string][]*Workload{}
	for pod := range v.Pods() {
		if pod.Finished {
			continue
		}
		top := topmost(known, pod.Namespace, pod.Controller)
		if top == nil {
			byNamespace[pod.Namespace] = append(byNamespace[pod.Namespace], &Workload{
				Meta: &pod.Meta, Pods: []Pod{{pod.Labels, pod.ServiceAccount}}, HostNetwork: pod.HostNetwork,
			})
			continue
		}
		w := made[top]
		if w == nil {
			w = &Workload{Meta: &top.Meta}
			made[top] = w
		}
		w.addPod(pod)
	}
	for w := range v.Workloads() {
		if live := made[w]; live != nil {
			byNamespace[w.Namespace] = append(byNamespace[w.Namespace], live)
			continue
		}
		// A workload without pods counts if it can create some and no other workload
		// controls it. Controllers create none for one that is being deleted.
		top := topmost(known, w.Namespace, w.Controller)
		if w.Finished || w.Deleting() || top != nil && top != w {
			continue
		}
		byNamespace[w.Namespace] = append(byNamespace[w.Namespace], &Workload{
			Meta: &w.Meta, Pods: []Pod{{templateLabels(w), w.ServiceAccount}}, HostNetwork: w.HostNetwork,
		})
	}
	for _, list := range byNamespace {
		slices.SortFunc(list, func(a, b *Workload) int { return a.Meta.Ref().Compare(b.Meta.Ref()) })
	}
	return byNamespace
}

// topmost returns the highest known controller above an object, or nil. References
// written by hand may be circular. Then it is the last controller before the circle
// closes, which for an object in the circle is the object itself.
func topmost(known map[snapshot.Ref]*snapshot.Workload, namespace string, c snapshot.Controller) *snapshot.Workload {
	var above []*snapshot.Workload
	for {
		w := known[snapshot.Ref{Group: c.Group, Kind: c.Kind, Namespace: namespace, Name: c.Name}]
		if w == nil || slices.Contains(above, w) {
			break
		}
		above, c = append(above, w), w.Controller
	}
	if len(above) == 0 {
		return nil
	}
	return above[len(above)-1]
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
