package isolation_test

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// packetWorkload is a workload of the report: the topmost known owner of live
// pods, a live pod that nothing known controls, or what will make pods and has
// none.
type packetWorkload struct {
	kind, namespace, name string
	pods                  []labels.Set
	host                  bool
}

// maker is an object that makes pods.
type maker struct {
	kind     string
	meta     *metav1.ObjectMeta
	template corev1.PodTemplateSpec
	finished bool
}

// makers returns the objects of a namespace that make pods.
func (c packetCluster) makers(namespace string) (list []maker) {
	for _, o := range c {
		var m maker
		switch o := o.(type) {
		case *appsv1.Deployment:
			m = maker{"Deployment", &o.ObjectMeta, o.Spec.Template, false}
		case *appsv1.ReplicaSet:
			m = maker{"ReplicaSet", &o.ObjectMeta, o.Spec.Template, false}
		case *appsv1.StatefulSet:
			m = maker{"StatefulSet", &o.ObjectMeta, o.Spec.Template, false}
		case *appsv1.DaemonSet:
			m = maker{"DaemonSet", &o.ObjectMeta, o.Spec.Template, false}
		case *batchv1.Job:
			finished := slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
				return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
			})
			m = maker{"Job", &o.ObjectMeta, o.Spec.Template, finished}
		case *batchv1.CronJob:
			m = maker{"CronJob", &o.ObjectMeta, o.Spec.JobTemplate.Spec.Template, false}
		default:
			continue
		}
		if m.meta.Namespace == namespace {
			list = append(list, m)
		}
	}
	return list
}

// pods returns the pods of a namespace that have a network.
func (c packetCluster) pods(namespace string) (list []*corev1.Pod) {
	for _, o := range c {
		p, ok := o.(*corev1.Pod)
		if ok && p.Namespace == namespace && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			list = append(list, p)
		}
	}
	return list
}

// workloads returns the live workloads of a namespace.
func (c packetCluster) workloads(namespace string) []*packetWorkload {
	makers := c.makers(namespace)
	above := func(o *metav1.ObjectMeta) *maker {
		ref := metav1.GetControllerOf(o)
		for i := range makers {
			if ref != nil && makers[i].kind == ref.Kind && makers[i].meta.Name == ref.Name {
				return &makers[i]
			}
		}
		return nil
	}
	var list []*packetWorkload
	of := func(kind, name string) *packetWorkload {
		for _, w := range list {
			if w.kind == kind && w.name == name {
				return w
			}
		}
		list = append(list, &packetWorkload{kind: kind, namespace: namespace, name: name})
		return list[len(list)-1]
	}
	for _, p := range c.pods(namespace) {
		kind, name := "Pod", p.Name
		for up := above(&p.ObjectMeta); up != nil; up = above(up.meta) {
			kind, name = up.kind, up.meta.Name
		}
		w := of(kind, name)
		w.pods = append(w.pods, p.Labels)
		w.host = w.host || p.Spec.HostNetwork
	}
	for _, m := range makers {
		w := of(m.kind, m.meta.Name)
		if len(w.pods) == 0 && above(m.meta) == nil && !m.finished && m.meta.DeletionTimestamp == nil {
			w.pods, w.host = []labels.Set{m.podLabels()}, m.template.Spec.HostNetwork
		}
	}
	return slices.DeleteFunc(list, func(w *packetWorkload) bool { return len(w.pods) == 0 })
}

// podLabels are the labels that the next pod will have: those of the template and
// those that the controller in question is documented to add.
func (m *maker) podLabels() labels.Set {
	added := labels.Set{}
	switch m.kind {
	case "Deployment":
		added["pod-template-hash"] = unheard
	case "StatefulSet":
		added["statefulset.kubernetes.io/pod-name"] = m.meta.Name + "-0"
		added["apps.kubernetes.io/pod-index"] = "0"
		added["controller-revision-hash"] = unheard
	case "DaemonSet":
		added["controller-revision-hash"], added["pod-template-generation"] = unheard, unheard
	case "Job":
		added["job-name"], added["batch.kubernetes.io/job-name"] = m.meta.Name, m.meta.Name
		added["controller-uid"], added["batch.kubernetes.io/controller-uid"] = string(m.meta.UID), string(m.meta.UID)
	case "CronJob":
		for _, key := range []string{"job-name", "batch.kubernetes.io/job-name", "controller-uid", "batch.kubernetes.io/controller-uid"} {
			added[key] = unheard
		}
	}
	return labels.Merge(added, m.template.Labels)
}
