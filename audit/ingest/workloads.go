package ingest

import (
	"cmp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/eventuallytrue/audit/rules/snapshot"
)

// Namespace returns the fact of a Namespace.
func (in *Ingester) Namespace(o *corev1.Namespace) snapshot.Namespace {
	f := snapshot.Namespace{
		Meta:        in.meta("", "Namespace", &o.ObjectMeta),
		Labels:      in.labelSet(o.Labels),
		Annotations: in.annotations(o.Annotations),
		Channel:     in.channelOf(o),
	}
	f.Deletion = namespaceDeletion(o)
	return f
}

// longestAnnotation is more bytes than the name of a team has, or of a channel.
const longestAnnotation = 128

// annotations returns the short annotations of a Namespace that look as if they named its
// owners or a channel.
func (in *Ingester) annotations(all map[string]string) snapshot.Labels {
	var kept map[string]string
	for key, value := range all {
		naming, known := in.naming[key]
		if !known {
			naming = snapshot.NamesOwners(key) || snapshot.NamesChannel(key)
			in.naming[strings.Clone(key)] = naming
		}
		if !naming || len(value) > longestAnnotation {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[strings.Clone(key)] = strings.Clone(value)
	}
	return in.labelSet(kept)
}

// longestChannel is more bytes than the name of a channel has. An annotation can be
// hundreds of times as long.
const longestChannel = 400

// channelOf returns the channel that a Namespace names for its owner. A value that is too
// long for a name is cut to a length that is still too long.
func (in *Ingester) channelOf(o *corev1.Namespace) string {
	if in.channel == "" {
		return ""
	}
	channel := strings.TrimSpace(o.Annotations[in.channel])
	if len(channel) > longestChannel {
		channel = strings.ToValidUTF8(channel[:longestChannel], "")
	}
	// A copy, so that the annotation itself is not kept.
	return strings.Clone(channel)
}

// Pod returns the fact of a Pod. A pod that is being deleted still has its network; one
// that succeeded or failed does not.
func (in *Ingester) Pod(o *corev1.Pod) snapshot.Pod {
	phase := o.Status.Phase
	return snapshot.Pod{
		Meta:           in.meta("", "Pod", &o.ObjectMeta),
		Controller:     in.controller(&o.ObjectMeta),
		Labels:         in.labelSet(o.Labels),
		HostNetwork:    o.Spec.HostNetwork,
		ServiceAccount: in.account(&o.Spec),
		Finished:       phase == corev1.PodSucceeded || phase == corev1.PodFailed,
		Pending:        phase == "" || phase == corev1.PodPending,
	}
}

// ReplicationController returns the fact of a ReplicationController.
func (in *Ingester) ReplicationController(o *corev1.ReplicationController) snapshot.Workload {
	w := in.workload("", "ReplicationController", &o.ObjectMeta, nil)
	if o.Spec.Template != nil {
		in.template(&w, o.Spec.Template)
	}
	return w
}

// Deployment returns the fact of a Deployment.
func (in *Ingester) Deployment(o *appsv1.Deployment) snapshot.Workload {
	w := in.workload(appsv1.GroupName, "Deployment", &o.ObjectMeta, &o.Spec.Template)
	w.Ports = in.declaredPorts(&o.Spec.Template.Spec)
	return w
}

// ReplicaSet returns the fact of a ReplicaSet.
func (in *Ingester) ReplicaSet(o *appsv1.ReplicaSet) snapshot.Workload {
	return in.workload(appsv1.GroupName, "ReplicaSet", &o.ObjectMeta, &o.Spec.Template)
}

// StatefulSet returns the fact of a StatefulSet.
func (in *Ingester) StatefulSet(o *appsv1.StatefulSet) snapshot.Workload {
	w := in.workload(appsv1.GroupName, "StatefulSet", &o.ObjectMeta, &o.Spec.Template)
	w.Ports = in.declaredPorts(&o.Spec.Template.Spec)
	return w
}

// DaemonSet returns the fact of a DaemonSet.
func (in *Ingester) DaemonSet(o *appsv1.DaemonSet) snapshot.Workload {
	w := in.workload(appsv1.GroupName, "DaemonSet", &o.ObjectMeta, &o.Spec.Template)
	w.Ports = in.declaredPorts(&o.Spec.Template.Spec)
	return w
}

// CronJob returns the fact of a CronJob, with the pod template inside its job template.
func (in *Ingester) CronJob(o *batchv1.CronJob) snapshot.Workload {
	return in.workload(batchv1.GroupName, "CronJob", &o.ObjectMeta, &o.Spec.JobTemplate.Spec.Template)
}

// Job returns the fact of a Job. A Job that completed or failed creates no more pods.
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
	w := snapshot.Workload{
		Meta: in.meta(group, kind, o), Identity: snapshot.UIDOf(string(o.UID)), Controller: in.controller(o),
	}
	if t != nil {
		in.template(&w, t)
	}
	return w
}

func (in *Ingester) template(w *snapshot.Workload, t *corev1.PodTemplateSpec) {
	w.PodLabels = in.labelSet(t.Labels)
	w.HostNetwork = t.Spec.HostNetwork
	w.ServiceAccount = in.account(&t.Spec)
}

// account returns the name of the ServiceAccount of a pod, empty for the default. Manifests
// may set only the deprecated field, which API servers copy to its successor.
func (in *Ingester) account(spec *corev1.PodSpec) string {
	name := cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	if name == snapshot.DefaultServiceAccount {
		return ""
	}
	return in.intern(name)
}

// declaredPorts returns the ports that the containers of a pod declare. The same list is
// kept once, because most workloads declare one of a few.
func (in *Ingester) declaredPorts(spec *corev1.PodSpec) []snapshot.PortRange {
	in.key = in.key[:0]
	n := 0
	for i := range spec.Containers {
		for _, p := range spec.Containers[i].Ports {
			in.key = append(strconv.AppendInt(append(in.key, p.Protocol...), int64(p.ContainerPort), 10), ' ')
			n++
		}
	}
	if kept, ok := in.ports[string(in.key)]; ok || n == 0 {
		return kept
	}
	out := make([]snapshot.PortRange, 0, n)
	for i := range spec.Containers {
		for _, p := range spec.Containers[i].Ports {
			protocol := snapshot.Protocol(in.intern(string(cmp.Or(p.Protocol, corev1.ProtocolTCP))))
			out = append(out, snapshot.PortRange{Protocol: protocol, First: p.ContainerPort, Last: p.ContainerPort})
		}
	}
	in.ports[string(in.key)] = out
	return out
}
