package isolation_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// packetDraw draws small clusters in which policies, labels and peers often meet.
type packetDraw struct {
	*rand.Rand
	cluster packetCluster
}

func drawPacketCluster(seed uint64) packetCluster {
	d := &packetDraw{Rand: rand.New(rand.NewPCG(seed, 4))}
	for i, name := range packetNamespaces()[:2+d.IntN(3)] {
		// Manifests may leave a Namespace to somebody else.
		if i == 0 || !d.in(12) {
			d.namespace(name)
		}
		for i := range d.IntN(7) {
			d.workload(name, fmt.Sprintf("w%d", i))
		}
		for i := range d.IntN(6) {
			d.policy(name, fmt.Sprintf("p%d", i))
		}
	}
	return d.cluster
}

// packetNamespaces are the namespaces that a cluster may have.
func packetNamespaces() []string { return []string{"team-a", "team-b", "team-c", "team-d"} }

// packetTime is a time of deletion.
func packetTime() *metav1.Time {
	t := metav1.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	return &t
}

// in is true once in n times.
func (d *packetDraw) in(n int) bool { return d.IntN(n) == 0 }

// oneOf returns one of some things.
func oneOf[T any](d *packetDraw, of ...T) T { return of[d.IntN(len(of))] }

func (d *packetDraw) namespace(name string) {
	ns := &corev1.Namespace{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}},
	}
	if d.in(2) {
		ns.Labels["env"] = oneOf(d, "prod", "dev")
	}
	// An API server sets it, a manifest seldom has it.
	if d.in(2) {
		ns.Labels[corev1.LabelMetadataName] = name
	}
	if d.in(15) {
		ns.Status.Phase = corev1.NamespaceTerminating
	}
	d.cluster = append(d.cluster, ns)
}

// labels draws labels of a pod; owner means nothing to any selector.
func (d *packetDraw) labels() map[string]string {
	l := map[string]string{}
	if !d.in(3) {
		l["app"] = oneOf(d, "web", "web", "db", "new")
	}
	if d.in(2) {
		l["tier"] = oneOf(d, "front", "back", "")
	}
	if d.in(5) {
		l["owner"] = "somebody"
	}
	return l
}

// workload draws a pod alone or something that makes pods, and pods of it.
func (d *packetDraw) workload(namespace, name string) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	host := d.in(12)
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: d.labels()}, Spec: packetPodSpec(host)}
	kind := oneOf(d, "Pod", "Pod", "Pod", "Deployment", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
	if kind == "Pod" {
		d.pod(meta, template, nil)
		return
	}
	if d.in(10) {
		meta.DeletionTimestamp = packetTime()
	}
	meta.UID = types.UID("uid-" + name)
	top := d.controller(kind, meta, template)
	// A known owner may stand between the pods and the topmost one.
	if kind == "Deployment" && d.in(2) {
		meta.OwnerReferences, meta.DeletionTimestamp = top, nil
		top = d.controller("ReplicaSet", meta, template)
	}
	for i := range d.IntN(3) {
		if d.in(2) { // of another revision
			template.Labels = d.labels()
			template.Spec = packetPodSpec(host != d.in(8))
		}
		d.pod(metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", name, i)}, template, top)
	}
}

func packetPodSpec(host bool) corev1.PodSpec {
	return corev1.PodSpec{HostNetwork: host, Containers: []corev1.Container{{Name: "main", Image: "registry.example/app:1"}}}
}

// controller adds what makes pods and returns the reference to it.
func (d *packetDraw) controller(kind string, meta metav1.ObjectMeta, t corev1.PodTemplateSpec) []metav1.OwnerReference {
	apps := metav1.TypeMeta{APIVersion: "apps/v1", Kind: kind}
	batch := metav1.TypeMeta{APIVersion: "batch/v1", Kind: kind}
	version := apps.APIVersion
	switch kind {
	case "Deployment":
		d.cluster = append(d.cluster, &appsv1.Deployment{TypeMeta: apps, ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Template: t}})
	case "ReplicaSet":
		d.cluster = append(d.cluster, &appsv1.ReplicaSet{TypeMeta: apps, ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Template: t}})
	case "StatefulSet":
		d.cluster = append(d.cluster, &appsv1.StatefulSet{TypeMeta: apps, ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Template: t}})
	case "DaemonSet":
		d.cluster = append(d.cluster, &appsv1.DaemonSet{TypeMeta: apps, ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Template: t}})
	case "Job":
		version = batch.APIVersion
		job := &batchv1.Job{TypeMeta: batch, ObjectMeta: meta, Spec: batchv1.JobSpec{Template: t}}
		if d.in(3) {
			end := oneOf(d, batchv1.JobComplete, batchv1.JobFailed, batchv1.JobSuspended)
			job.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: oneOf(d, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse)}}
		}
		d.cluster = append(d.cluster, job)
	case "CronJob":
		version = batch.APIVersion
		spec := batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: t}}}
		d.cluster = append(d.cluster, &batchv1.CronJob{TypeMeta: batch, ObjectMeta: meta, Spec: spec})
	}
	controls := true
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: meta.Name, UID: meta.UID, Controller: &controls}}
}

func (d *packetDraw) pod(meta metav1.ObjectMeta, t corev1.PodTemplateSpec, owners []metav1.OwnerReference) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: meta, Spec: t.Spec}
	pod.Labels = t.Labels
	pod.Status.Phase = oneOf(d, corev1.PodRunning, corev1.PodRunning, corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed)
	if d.in(8) {
		pod.DeletionTimestamp = packetTime()
	}
	switch {
	case d.in(15): // owned, but controlled by nothing
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "w0"}}
	case d.in(15): // controlled by what nobody read
		controls := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Robot", Name: "w0", Controller: &controls}}
	default:
		pod.OwnerReferences = owners
	}
	d.cluster = append(d.cluster, pod)
}
