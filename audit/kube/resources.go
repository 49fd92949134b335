package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/eventuallytrue/audit/audit/ingest"
	"github.com/eventuallytrue/audit/rules/snapshot"
)

// resources returns how each kind is read that has a typed client. To add a kind,
// add its line here; those without one are ingest.Customs.
func resources() []resource {
	return []resource{
		{kind: snapshot.Namespaces, version: "v1", everywhere: true, open: openNamespaces},
		{kind: snapshot.Pods, version: "v1", everywhere: true, open: openPods},
		{kind: snapshot.ReplicationControllers, version: "v1", open: openReplicationControllers},
		{kind: snapshot.DaemonSets, version: "v1", open: openDaemonSets},
		{kind: snapshot.Deployments, version: "v1", open: openDeployments},
		{kind: snapshot.ReplicaSets, version: "v1", open: openReplicaSets},
		{kind: snapshot.StatefulSets, version: "v1", open: openStatefulSets},
		{kind: snapshot.CronJobs, version: "v1", open: openCronJobs},
		{kind: snapshot.Jobs, version: "v1", open: openJobs},
		{kind: snapshot.IngressClasses, version: "v1", open: openIngressClasses},
		{kind: snapshot.Ingresses, version: "v1", open: openIngresses},
		{kind: snapshot.NetworkPolicies, version: "v1", open: openNetworkPolicies},
		{kind: snapshot.ValidatingWebhooks, version: "v1", open: openWebhooks},
		{kind: snapshot.ValidatingPolicies, version: "v1", open: openAdmissionPolicies},
		{kind: snapshot.ValidatingBindings, version: "v1", open: openAdmissionBindings},
	}
}

func openNamespaces(s *Source, in *ingest.Ingester) list {
	return typed[corev1.Namespace, *corev1.Namespace]{
		client: s.client.CoreV1().RESTClient(), kind: snapshot.Namespaces, fields: namespaceFields(),
		facts: one(in.Namespace, func(f *snapshot.Facts) *[]snapshot.Namespace { return &f.Namespaces }),
	}.list()
}

func openPods(s *Source, in *ingest.Ingester) list {
	return typed[corev1.Pod, *corev1.Pod]{
		client: s.client.CoreV1().RESTClient(), kind: snapshot.Pods, fields: podFields(),
		facts: one(in.Pod, func(f *snapshot.Facts) *[]snapshot.Pod { return &f.Pods }),
	}.list()
}

func openReplicationControllers(s *Source, in *ingest.Ingester) list {
	return typed[corev1.ReplicationController, *corev1.ReplicationController]{
		client: s.client.CoreV1().RESTClient(), kind: snapshot.ReplicationControllers, fields: templateFields(3),
		facts: one(in.ReplicationController, workloads),
	}.list()
}

func openDaemonSets(s *Source, in *ingest.Ingester) list {
	return typed[appsv1.DaemonSet, *appsv1.DaemonSet]{
		client: s.client.AppsV1().RESTClient(), kind: snapshot.DaemonSets, fields: templateFields(2),
		facts: one(in.DaemonSet, workloads),
	}.list()
}

func openDeployments(s *Source, in *ingest.Ingester) list {
	return typed[appsv1.Deployment, *appsv1.Deployment]{
		client: s.client.AppsV1().RESTClient(), kind: snapshot.Deployments, fields: templateFields(3),
		facts: one(in.Deployment, workloads),
	}.list()
}

func openReplicaSets(s *Source, in *ingest.Ingester) list {
	return typed[appsv1.ReplicaSet, *appsv1.ReplicaSet]{
		client: s.client.AppsV1().RESTClient(), kind: snapshot.ReplicaSets, fields: templateFields(3),
		facts: one(in.ReplicaSet, workloads),
	}.list()
}

func openStatefulSets(s *Source, in *ingest.Ingester) list {
	return typed[appsv1.StatefulSet, *appsv1.StatefulSet]{
		client: s.client.AppsV1().RESTClient(), kind: snapshot.StatefulSets, fields: templateFields(3),
		facts: one(in.StatefulSet, workloads),
	}.list()
}

func openCronJobs(s *Source, in *ingest.Ingester) list {
	return typed[batchv1.CronJob, *batchv1.CronJob]{
		client: s.client.BatchV1().RESTClient(), kind: snapshot.CronJobs, fields: cronJobFields(),
		facts: one(in.CronJob, workloads),
	}.list()
}

func openJobs(s *Source, in *ingest.Ingester) list {
	return typed[batchv1.Job, *batchv1.Job]{
		client: s.client.BatchV1().RESTClient(), kind: snapshot.Jobs, fields: jobFields(),
		facts: one(in.Job, workloads),
	}.list()
}

func openIngressClasses(s *Source, in *ingest.Ingester) list {
	return typed[networkingv1.IngressClass, *networkingv1.IngressClass]{
		client: s.client.NetworkingV1().RESTClient(), kind: snapshot.IngressClasses, fields: specFields(),
		facts: one(in.IngressClass, func(f *snapshot.Facts) *[]snapshot.IngressClass { return &f.IngressClasses }),
	}.list()
}

func openIngresses(s *Source, in *ingest.Ingester) list {
	return typed[networkingv1.Ingress, *networkingv1.Ingress]{
		client: s.client.NetworkingV1().RESTClient(), kind: snapshot.Ingresses, fields: specFields(managedFields()),
		facts: one(in.Ingress, func(f *snapshot.Facts) *[]snapshot.Ingress { return &f.Ingresses }),
	}.list()
}

func openNetworkPolicies(s *Source, in *ingest.Ingester) list {
	return typed[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy]{
		client: s.client.NetworkingV1().RESTClient(), kind: snapshot.NetworkPolicies, fields: specFields(),
		facts: one(in.NetworkPolicy, func(f *snapshot.Facts) *[]snapshot.Policy { return &f.Policies }),
	}.list()
}

func workloads(f *snapshot.Facts) *[]snapshot.Workload { return &f.Workloads }
