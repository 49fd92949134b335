package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var shared = &Shared{}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// sleeper is a pod as restricted as they get.
const sleeper = `
apiVersion: v1
kind: Pod
metadata: {name: sleeper, namespace: default}
spec:
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
  terminationGracePeriodSeconds: 2
  containers:
  - name: sleeper
    image: ` + pauseImage + `
    imagePullPolicy: Never
    securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
    resources: {limits: {memory: 64Mi}}
`

// runSleeper runs the pod, and returns the id of its process once that runs.
func runSleeper(t *testing.T, n *Node) int {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pod.yaml")
	if err := os.WriteFile(file, []byte(sleeper), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"apply", "-f", file}, {"wait", "-n", "default", "--for=condition=Ready", "pod/sleeper", "--timeout=60s"},
	} {
		if _, err := n.Kubectl(t.Context(), args...); err != nil {
			t.Fatal(err)
		}
	}
	pid, err := n.PID(t.Context(), "default", "sleeper")
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func TestPodRuns(t *testing.T) {
	n := shared.Node(t)
	n.LogOnFailure(t, "default")
	pid := runSleeper(t, n)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Uid:\t65532\t65532", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("the process of the pod has not %q:\n%s", want, status)
		}
	}
	in, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(in), "/"+filepath.Base(n.Dir)+"/kubepods") {
		t.Errorf("the process of the pod is in none of the node's cgroups:\n%s", in)
	}
	if _, err := n.Kubectl(t.Context(), "delete", "pod", "sleeper", "-n", "default", "--timeout=30s"); err != nil {
		t.Error(err)
	}
}

// hold is the variable that makes TestHeld wait to be killed.
const hold = "KUBETEST_NODE_HOLD"

// TestHeld is the process whose death TestKilledTestLeavesNothing looks at.
func TestHeld(t *testing.T) {
	if os.Getenv(hold) == "" {
		t.Skip("is run by TestKilledTestLeavesNothing")
	}
	n := shared.Node(t)
	n.LogOnFailure(t, "default")
	runSleeper(t, n)
	fmt.Println("holding", n.Dir)
	time.Sleep(time.Minute)
}
