package main

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/client-go/kubernetes"
)

// lists returns what reads each kind that the rules need of a cluster without
// custom kinds, the largest first. The benchmark holds the requests of both
// programs against each other, so none is missing here.
func lists(c kubernetes.Interface) []func(context.Context) (int, error) {
	core, apps, batch, net, admission := c.CoreV1(), c.AppsV1(), c.BatchV1(), c.NetworkingV1(), c.AdmissionregistrationV1()
	return []func(context.Context) (int, error){
		drain(net.Ingresses("").List, func(l *networkingv1.IngressList) int { return len(l.Items) }),
		drain(core.Pods("").List, func(l *corev1.PodList) int { return len(l.Items) }),
		drain(apps.Deployments("").List, func(l *appsv1.DeploymentList) int { return len(l.Items) }),
		drain(core.Namespaces().List, func(l *corev1.NamespaceList) int { return len(l.Items) }),
		drain(net.NetworkPolicies("").List, func(l *networkingv1.NetworkPolicyList) int { return len(l.Items) }),
		drain(apps.ReplicaSets("").List, func(l *appsv1.ReplicaSetList) int { return len(l.Items) }),
		drain(apps.StatefulSets("").List, func(l *appsv1.StatefulSetList) int { return len(l.Items) }),
		drain(apps.DaemonSets("").List, func(l *appsv1.DaemonSetList) int { return len(l.Items) }),
		drain(core.ReplicationControllers("").List, func(l *corev1.ReplicationControllerList) int { return len(l.Items) }),
		drain(batch.Jobs("").List, func(l *batchv1.JobList) int { return len(l.Items) }),
		drain(batch.CronJobs("").List, func(l *batchv1.CronJobList) int { return len(l.Items) }),
		drain(net.IngressClasses().List, func(l *networkingv1.IngressClassList) int { return len(l.Items) }),
		drain(admission.ValidatingWebhookConfigurations().List, func(l *admissionv1.ValidatingWebhookConfigurationList) int { return len(l.Items) }),
		drain(admission.ValidatingAdmissionPolicies().List, func(l *admissionv1.ValidatingAdmissionPolicyList) int { return len(l.Items) }),
		drain(admission.ValidatingAdmissionPolicyBindings().List, func(l *admissionv1.ValidatingAdmissionPolicyBindingList) int { return len(l.Items) }),
	}
}
