package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

const servingLabel = "app.kubernetes.io/component=serve"

// deploymentHasOneLeader: one of two replicas sweeps, and the other one stands by.
func deploymentHasOneLeader(t *testing.T, w *installation) {
	w.install(t, chart, w.values(t, object{"mode": "deployment", "deployment": object{"replicas": 2, "interval": "15s"}}))
	w.kubectl(t, "rollout", "status", "-n", home, "deployment/"+release, "--timeout=60s")
	if left := w.kubectl(t, "get", "cronjobs", "-n", home, "-o", "name"); left != "" {
		t.Errorf("with the Deployment there still is %s", left)
	}
	leader := w.leader(t)
	await(t, "one leader and one standby", func() bool {
		var leading, standing int
		for _, pod := range w.pods(t, servingLabel) {
			log := w.kubectl(t, "logs", "-n", home, pod.Name)
			switch {
			case strings.Contains(log, "msg=leading"):
				leading++
			case strings.Contains(log, `msg="standing by" leader=`+leader):
				standing++
			}
		}
		return leading == 1 && standing == 1
	})
	w.expectOpen(t, w.estate)
}

// leader waits until one of the pods holds the Lease, and returns its name.
func (w *installation) leader(t *testing.T) (name string) {
	t.Helper()
	await(t, "a leader", func() bool {
		holder := w.kubectl(t, "get", "lease", "audit", "-n", home, "-o", "jsonpath={.spec.holderIdentity}")
		for _, pod := range w.pods(t, servingLabel) {
			if strings.HasPrefix(holder, pod.Name+"_") && pod.DeletionTimestamp == nil {
				name = pod.Name
				return true
			}
		}
		return false
	})
	return name
}

// contestedHosts is the number of hosts that get a second owner at once. Writing that many
// findings takes a while.
const contestedHosts = 150

// replacesDeadLeader: the leader's pod is deleted without a grace period when it has written
// some of many new findings, so it can't release its lease. The other pod finds the rest.
func replacesDeadLeader(t *testing.T, w *installation) {
	leader := w.leader(t)
	w.createIngresses(t, contestedHosts)
	want := w.idsOf(t)
	if len(want) != len(w.estate)+contestedHosts {
		t.Fatalf("%d findings, want %d of the estate and %d more", len(want), len(w.estate), contestedHosts)
	}
	w.awaitFindings(t, len(w.estate)+contestedHosts/5)
	w.kubectl(t, "delete", "pod", "-n", home, leader, "--grace-period=0", "--force")
	if written := len(in(w.findings(t), v1alpha1.StateOpen)); written >= len(want) {
		t.Fatalf("all %d findings were written before the leader died, so this test shows nothing", written)
	}
	await(t, "the findings of the next leader", func() bool {
		return len(in(w.findings(t), v1alpha1.StateOpen)) >= len(want)
	})
	w.expectOpen(t, want)
	await(t, "all notifications", func() bool {
		for _, finding := range w.findings(t) {
			if len(finding.Status.Notifications) == 0 || slices.ContainsFunc(finding.Status.Notifications, func(n v1alpha1.Notification) bool { return n.Pending != "" }) {
				return false
			}
		}
		return true
	})
	w.expectNotified(t)
	if next := w.leader(t); next == leader {
		t.Errorf("pod %s is still the leader", leader)
	}
	if pods := w.pods(t, servingLabel); slices.ContainsFunc(pods, restarted) {
		t.Errorf("a pod was restarted: %+v", pods)
	}
}

// awaitFindings waits until there are n findings. It polls more often than kubectl could,
// to catch a moment in a sweep.
func (w *installation) awaitFindings(t *testing.T, n int) {
	t.Helper()
	client, err := metadata.NewForConfig(w.Config(kubetest.Admin))
	if err != nil {
		t.Fatal(err)
	}
	kind := v1alpha1.GroupVersion().WithResource("findings")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		list, err := client.Resource(kind).Namespace(home).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) >= n {
			return
		}
	}
	t.Fatalf("timed out waiting for %d findings", n)
}

func restarted(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 })
}

// The Ingresses are in two namespaces with different owners. The first contestedHosts
// Ingresses claim the same hosts in both.
const (
	manyIngresses = 10_000
	loadA         = "load-a"
	loadB         = "load-b"
)

// manyIngressesFit: pods of both modes sweep many Ingresses within their memory limit.
func manyIngressesFit(t *testing.T, w *installation) {
	w.createIngresses(t, manyIngresses/2)
	want := w.idsOf(t)
	for _, pod := range w.pods(t, servingLabel) {
		w.kubectl(t, "delete", "pod", "-n", home, pod.Name, "--wait=false")
	}
	w.kubectl(t, "rollout", "status", "-n", home, "deployment/"+release, "--timeout=90s")
	leader := w.leader(t)
	await(t, "two sweeps of the leader", func() bool {
		return strings.Count(w.kubectl(t, "logs", "-n", home, leader), `msg=sweep complete=true`) >= 2
	})
	w.expectOpen(t, want)
	peak, limit := w.memory(t, leader)
	t.Logf("sweeping %d Ingresses took %d of %d MiB", manyIngresses, peak>>20, limit>>20)
	if limit != 128<<20 || peak >= limit {
		t.Errorf("peak memory of the pod: %d bytes, limit %d", peak, limit)
	}
	w.install(t, chart, w.values(t, object{"cronjob": suspended()}))
	if job := w.sweepNow(t, "many"); job.Status.Succeeded != 1 || job.Status.Failed != 0 {
		t.Errorf("sweep of the CronJob: %+v", job.Status)
	}
	w.expectOpen(t, want)
	w.expectPushed(t)
}

// createIngresses creates the missing ones of the first n Ingresses in each of the two
// namespaces.
func (w *installation) createIngresses(t *testing.T, each int) {
	t.Helper()
	client, err := kubernetes.NewForConfig(w.Config(kubetest.Admin))
	if err != nil {
		t.Fatal(err)
	}
	var wanted []*networkingv1.Ingress
	for _, name := range []string{loadA, loadB} {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"owner": name}}}
		if _, err := client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		for i := range each {
			wanted = append(wanted, ingress(name, i))
		}
	}
	var group errgroup.Group
	group.SetLimit(16)
	for _, i := range wanted {
		group.Go(func() error {
			_, err := client.NetworkingV1().Ingresses(i.Namespace).Create(t.Context(), i, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func ingress(namespace string, i int) *networkingv1.Ingress {
	host := fmt.Sprintf("%d.load.example.org", i)
	if i >= contestedHosts {
		host = fmt.Sprintf("%d.%s.example.org", i, namespace)
	}
	object := kubetest.Ingress(fmt.Sprintf("load-%d", i), "nginx", host)
	object.Namespace = namespace
	return object
}

// memory returns the peak memory of a pod's container and its limit, as counted by the
// kernel.
func (w *installation) memory(t *testing.T, pod string) (peak, limit int64) {
	t.Helper()
	pid, err := w.PID(t.Context(), home, pod)
	if err != nil {
		t.Fatal(err)
	}
	memberships, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(memberships)) { // ID:CONTROLLERS:PATH
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, names := range [][3]string{
			{"memory", "memory.max_usage_in_bytes", "memory.limit_in_bytes"}, // version 1
			{"", "memory.peak", "memory.max"},                                // version 2
		} {
			dir := filepath.Join("/sys/fs/cgroup", names[0], parts[2])
			if parts[1] != names[0] {
				continue
			}
			peak, peakErr := readNumber(filepath.Join(dir, names[1]))
			limit, limitErr := readNumber(filepath.Join(dir, names[2]))
			if errors.Join(peakErr, limitErr) == nil {
				return peak, limit
			}
		}
	}
	t.Fatalf("no memory cgroup of pod %s found:\n%s", pod, memberships)
	return 0, 0
}

func readNumber(path string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}
