package kube

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/kubernetes"

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

func openNamespaces(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.CoreV1().Namespaces().List,
		func(l *corev1.NamespaceList) []corev1.Namespace { return l.Items }, in.Namespace,
		func(f *snapshot.Facts) *[]snapshot.Namespace { return &f.Namespaces })
}

func openPods(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.CoreV1().Pods("").List,
		func(l *corev1.PodList) []corev1.Pod { return l.Items }, in.Pod,
		func(f *snapshot.Facts) *[]snapshot.Pod { return &f.Pods })
}

func openReplicationControllers(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.CoreV1().ReplicationControllers("").List,
		func(l *corev1.ReplicationControllerList) []corev1.ReplicationController { return l.Items },
		in.ReplicationController, workloads)
}

func openDaemonSets(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.AppsV1().DaemonSets("").List,
		func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items }, in.DaemonSet, workloads)
}

func openDeployments(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.AppsV1().Deployments("").List,
		func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items }, in.Deployment, workloads)
}

func openReplicaSets(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.AppsV1().ReplicaSets("").List,
		func(l *appsv1.ReplicaSetList) []appsv1.ReplicaSet { return l.Items }, in.ReplicaSet, workloads)
}

func openStatefulSets(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.AppsV1().StatefulSets("").List,
		func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items }, in.StatefulSet, workloads)
}

func openCronJobs(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.BatchV1().CronJobs("").List,
		func(l *batchv1.CronJobList) []batchv1.CronJob { return l.Items }, in.CronJob, workloads)
}

func openJobs(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.BatchV1().Jobs("").List,
		func(l *batchv1.JobList) []batchv1.Job { return l.Items }, in.Job, workloads)
}

func openIngressClasses(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.NetworkingV1().IngressClasses().List,
		func(l *networkingv1.IngressClassList) []networkingv1.IngressClass { return l.Items }, in.IngressClass,
		func(f *snapshot.Facts) *[]snapshot.IngressClass { return &f.IngressClasses })
}

func openIngresses(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.NetworkingV1().Ingresses("").List,
		func(l *networkingv1.IngressList) []networkingv1.Ingress { return l.Items }, in.Ingress,
		func(f *snapshot.Facts) *[]snapshot.Ingress { return &f.Ingresses })
}

func openNetworkPolicies(c kubernetes.Interface, in *ingest.Ingester) fetch {
	return typed(c.NetworkingV1().NetworkPolicies("").List,
		func(l *networkingv1.NetworkPolicyList) []networkingv1.NetworkPolicy { return l.Items }, in.NetworkPolicy,
		func(f *snapshot.Facts) *[]snapshot.Policy { return &f.Policies })
}

func workloads(f *snapshot.Facts) *[]snapshot.Workload { return &f.Workloads }
