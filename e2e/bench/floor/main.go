// Command floor reads the objects that a sweep reads and discards them. Its cost is the
// minimal cost of reading with the typed client of client-go and pages of 500.
//
//	floor [-parallel N]
//
// KUBECONFIG is the path of the kubeconfig. floor prints the number of objects.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	parallel := flag.Int("parallel", 1, "number of kinds to read in parallel")
	flag.Parse()
	items, err := run(context.Background(), os.Getenv("KUBECONFIG"), *parallel)
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
	fmt.Println(items)
}

// run reads every kind and returns the number of objects.
func run(ctx context.Context, kubeconfig string, parallel int) (int, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return 0, err
	}
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return 0, err
	}
	var items atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, read := range lists(client) {
		group.Go(func() error {
			n, err := read(ctx)
			items.Add(int64(n))
			return err
		})
	}
	err = group.Wait()
	return int(items.Load()), err
}

// drain returns a function that reads all pages of a list and counts the items.
func drain[L metav1.ListInterface](list func(context.Context, metav1.ListOptions) (L, error), count func(L) int) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		items := 0
		opts := metav1.ListOptions{Limit: 500}
		for {
			page, err := list(ctx, opts)
			if err != nil {
				return items, err
			}
			items += count(page)
			if opts.Continue = page.GetContinue(); opts.Continue == "" {
				return items, nil
			}
		}
	}
}

// lists returns the functions that read the kinds that the rules need in a cluster
// without custom kinds, the largest first. The benchmark compares the requests of both
// programs, so a missing kind would show.
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
