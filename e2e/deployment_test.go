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

// deploymentHasOneLeader: of two replicas one sweeps, and the other stands by.
func deploymentHasOneLeader(t *testing.T, w *installation) {
	w.install(t, chart, w.values(t, object{"mode": "deployment", "deployment": object{"replicas": 2, "interval": "15s"}}))
	w.kubectl(t, "rollout", "status", "-n", home, "deployment/"+release, "--timeout=60s")
	if left := w.kubectl(t, "get", "cronjobs", "-n", home, "-o", "name"); left != "" {
		t.Errorf("beside the deployment there is still %s", left)
	}
	leader := w.leader(t)
	await(t, "one leads and one stands by", func() bool {
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

// leader waits until one of the pods has the Lease, and returns its name.
func (w *installation) leader(t *testing.T) (name string) {
	t.Helper()
	await(t, "a pod leads", func() bool {
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

// contests is how many hosts get a second owner at once: enough that it takes a
// while to write them all down.
const contestedHosts = 150

// diesInASweep: the leader's pod is deleted without grace when it has written some
// of many new findings. It cannot give its lease back. The other finds the rest.
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
		t.Fatalf("all %d findings were written before the leader died, so there is nothing to see", written)
	}
	await(t, "somebody else finds the rest", func() bool {
		return len(in(w.findings(t), v1alpha1.StateOpen)) >= len(want)
	})
	w.expectOpen(t, want)
	await(t, "all are told", func() bool {
		for _, finding := range w.findings(t) {
			if len(finding.Status.Notifications) == 0 || slices.ContainsFunc(finding.Status.Notifications, func(told v1alpha1.Notification) bool { return told.Pending != "" }) {
				return false
			}
		}
		return true
	})
	w.expectNotified(t)
	if next := w.leader(t); next == leader {
		t.Errorf("pod %s still leads", leader)
	}
	if pods := w.pods(t, servingLabel); slices.ContainsFunc(pods, restarted) {
		t.Errorf("a pod was restarted: %+v", pods)
	}
}

// awaitFindings waits until there are so many, and looks more often than kubectl
// could: it is about a moment of a sweep.
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
	t.Fatalf("there are never %d findings", n)
}

func restarted(pod corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 })
}

// The Ingresses are in two namespaces of different owners. The first of them claim
// the same hosts in both.
const (
	manyIngresses = 10_000
	loadA         = "load-a"
	loadB         = "load-b"
)

// manyIngressesFit: the pod of either mode sweeps them within its limit of memory.
func manyIngressesFit(t *testing.T, w *installation) {
	w.createIngresses(t, manyIngresses/2)
	want := w.idsOf(t)
	for _, pod := range w.pods(t, servingLabel) {
		w.kubectl(t, "delete", "pod", "-n", home, pod.Name, "--wait=false")
	}
	w.kubectl(t, "rollout", "status", "-n", home, "deployment/"+release, "--timeout=90s")
	leader := w.leader(t)
	await(t, "the leader sweeps", func() bool {
		return strings.Count(w.kubectl(t, "logs", "-n", home, leader), `msg=sweep complete=true`) >= 2
	})
	w.expectOpen(t, want)
	peak, limit := w.memory(t, leader)
	t.Logf("sweeping %d Ingresses took %d of %d MiB", manyIngresses, peak>>20, limit>>20)
	if limit != 128<<20 || peak >= limit {
		t.Errorf("the pod took up to %d bytes of %d", peak, limit)
	}
	w.install(t, chart, w.values(t, object{"cronjob": suspended()}))
	if job := w.sweepNow(t, "many"); job.Status.Succeeded != 1 || job.Status.Failed != 0 {
		t.Errorf("the sweep of the CronJob's pod: %+v", job.Status)
	}
	w.expectOpen(t, want)
	w.expectPushed(t)
}

// createIngresses makes what is still missing of so many Ingresses in each of the
// two namespaces.
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

// memory returns the most memory that a pod's container took, and its limit, as the
// kernel counts them.
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
	t.Fatalf("no cgroup counts the memory of pod %s:\n%s", pod, memberships)
	return 0, 0
}

func readNumber(path string) (int64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}
