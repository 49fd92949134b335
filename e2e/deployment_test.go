package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

const serving = "app.kubernetes.io/component=serve"

// deploymentHasOneLeader: of two replicas one sweeps, and the other stands by.
func deploymentHasOneLeader(t *testing.T, w *world) {
	w.install(t, chart, w.values(t, object{"mode": "deployment", "deployment": object{"replicas": 2, "interval": "15s"}}))
	w.kubectl(t, "rollout", "status", "-n", home, "deployment/"+release, "--timeout=60s")
	if left := w.kubectl(t, "get", "cronjobs", "-n", home, "-o", "name"); left != "" {
		t.Errorf("beside the deployment there is still %s", left)
	}
	leader := w.leader(t)
	await(t, "one leads and one stands by", func() bool {
		var leading, standing int
		for _, pod := range w.pods(t, serving) {
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
func (w *world) leader(t *testing.T) (name string) {
	t.Helper()
	await(t, "a pod leads", func() bool {
		holder := w.kubectl(t, "get", "lease", "audit", "-n", home, "-o", "jsonpath={.spec.holderIdentity}")
		for _, pod := range w.pods(t, serving) {
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
const contests = 150

// diesInASweep: the leader's pod is deleted without grace when it has written some
// of many new findings. It cannot give its lease back. The other finds the rest.
func diesInASweep(t *testing.T, w *world) {
	leader := w.leader(t)
	w.createIngresses(t, contests)
	want := w.idsOf(t)
	if len(want) != len(w.estate)+contests {
		t.Fatalf("%d findings, want %d of the estate and %d more", len(want), len(w.estate), contests)
	}
	w.awaitFindings(t, len(w.estate)+contests/5)
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
	w.expectTold(t)
	if next := w.leader(t); next == leader {
		t.Errorf("pod %s still leads", leader)
	}
	if pods := w.pods(t, serving); slices.ContainsFunc(pods, restarted) {
		t.Errorf("a pod was restarted: %+v", pods)
	}
}

// awaitFindings waits until there are so many, and looks more often than kubectl
// could: it is about a moment of a sweep.
func (w *world) awaitFindings(t *testing.T, n int) {
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
