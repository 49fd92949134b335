package node

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var shared = &Shared{}

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// sleeper is a pod that the restricted profile of Pod Security allows.
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

// runSleeper runs the pod and returns the id of its process.
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
			t.Errorf("the status of the process lacks %q:\n%s", want, status)
		}
	}
	in, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(in), "/"+filepath.Base(n.Dir)+"/kubepods") {
		t.Errorf("the process is not in a cgroup of the node:\n%s", in)
	}
	if _, err := n.Kubectl(t.Context(), "delete", "pod", "sleeper", "-n", "default", "--timeout=30s"); err != nil {
		t.Error(err)
	}
}

// hold is the environment variable that makes TestHeld run.
const hold = "KUBETEST_NODE_HOLD"

// TestHeld is the test that TestKilledTestLeavesNothing kills.
func TestHeld(t *testing.T) {
	if os.Getenv(hold) == "" {
		t.Skip("only for TestKilledTestLeavesNothing")
	}
	n := shared.Node(t)
	n.LogOnFailure(t, "default")
	runSleeper(t, n)
	fmt.Println("holding", n.Dir)
	time.Sleep(time.Minute)
}

// TestKilledTestLeavesNothing kills a test binary while a pod runs on its node, and
// checks that nothing but the folder is left.
func TestKilledTestLeavesNothing(t *testing.T) {
	shared.Node(t) // skips the test if there can't be a node
	dir := killHolding(t)
	if !soon(func() bool { return len(processesOf(t, dir)) == 0 }) {
		t.Errorf("processes of the killed test still run:\n%s", strings.Join(processesOf(t, dir), "\n"))
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(mounts), dir) {
		t.Errorf("mounts of the killed test still exist:\n%s", mounts)
	}
	if len(cgroups(filepath.Base(dir))) == 0 {
		t.Error("the pod had no cgroup, so their removal is not tested")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Errorf("remove the folder: %v", err)
	}
	removeOrphanedCgroups()
	if left := cgroups(filepath.Base(dir)); len(left) > 0 {
		t.Errorf("cgroups still exist without their folder: %v", left)
	}
}

// killHolding starts this binary with another node, kills it when its pod runs, and
// returns the folder that it leaves behind.
func killHolding(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestHeld$")
	cmd.Env = append(os.Environ(), hold+"=1", role+"=", folder+"=")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if dir, ok := strings.CutPrefix(lines.Text(), "holding "); ok {
			if len(processesOf(t, dir)) < 8 {
				t.Errorf("the node has fewer processes than expected: %q", processesOf(t, dir))
			}
			return dir
		}
		said = append(said, lines.Text())
	}
	t.Fatalf("the node did not start:\n%s", strings.Join(said, "\n"))
	return ""
}

// processesOf returns the command lines of the processes that use a folder: in an
// argument or, like a container, as their root.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	commands, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range commands {
		command, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		mounts, err := os.ReadFile(filepath.Join(filepath.Dir(path), "mountinfo"))
		if err == nil && (strings.Contains(string(command), dir) || strings.Contains(string(mounts), dir)) {
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

func soon(yes func() bool) bool {
	for range 250 {
		if yes() {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}
