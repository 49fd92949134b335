package ingest

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Deployment returns the fact of a Deployment.
func (in *Ingester) Deployment(o *appsv1.Deployment) snapshot.Workload {
	return in.workload(appsv1.GroupName, "Deployment", &o.ObjectMeta, &o.Spec.Template)
}

// ReplicaSet returns the fact of a ReplicaSet.
func (in *Ingester) ReplicaSet(o *appsv1.ReplicaSet) snapshot.Workload {
	return in.workload(appsv1.GroupName, "ReplicaSet", &o.ObjectMeta, &o.Spec.Template)
}

// StatefulSet returns the fact of a StatefulSet.
func (in *Ingester) StatefulSet(o *appsv1.StatefulSet) snapshot.Workload {
	return in.workload(appsv1.GroupName, "StatefulSet", &o.ObjectMeta, &o.Spec.Template)
}

// DaemonSet returns the fact of a DaemonSet.
func (in *Ingester) DaemonSet(o *appsv1.DaemonSet) snapshot.Workload {
	return in.workload(appsv1.GroupName, "DaemonSet", &o.ObjectMeta, &o.Spec.Template)
}

// CronJob returns the fact of a CronJob; its pod template is the one inside its
// job template.
func (in *Ingester) CronJob(o *batchv1.CronJob) snapshot.Workload {
	return in.workload(batchv1.GroupName, "CronJob", &o.ObjectMeta, &o.Spec.JobTemplate.Spec.Template)
}

// Job returns the fact of a Job. A Job that completed or failed makes no more
// pods.
func (in *Ingester) Job(o *batchv1.Job) snapshot.Workload {
	w := in.workload(batchv1.GroupName, "Job", &o.ObjectMeta, &o.Spec.Template)
	w.UID = string(o.UID)
	for _, c := range o.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
			w.Finished = true
		}
	}
	return w
}

func (in *Ingester) workload(group, kind string, o *metav1.ObjectMeta, t *corev1.PodTemplateSpec) snapshot.Workload {
	w := snapshot.Workload{Meta: in.meta(group, kind, o), Controller: in.controller(o)}
	if t != nil {
		in.template(&w, t)
	}
	return w
}

func (in *Ingester) template(w *snapshot.Workload, t *corev1.PodTemplateSpec) {
	w.PodLabels = in.labelSet(t.Labels)
	w.HostNetwork = t.Spec.HostNetwork
}
