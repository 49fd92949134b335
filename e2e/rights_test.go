package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// podMayDoNothingElse looks at the process of a pod from outside, as the kernel has
// it, and tries from its network, as its user and with its token, what it must not be
// able to do.
func podMayDoNothingElse(t *testing.T, w *world) {
	pid, err := w.PID(t.Context(), home, w.leader(t))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	const none = "0000000000000000"
	expectSaid(t, string(status), "Uid:\t65532\t65532\t65532\t65532", "Gid:\t65532\t65532\t65532\t65532",
		"CapInh:\t"+none, "CapPrm:\t"+none, "CapEff:\t"+none, "CapBnd:\t"+none, "CapAmb:\t"+none, "NoNewPrivs:\t1", "Seccomp:\t2")
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		t.Fatal(err)
	}
	expectSaid(t, string(mounts), " / / ro,")

	answers := map[string]int{
		// What it must be able to do, or the rest would prove nothing.
		"GET /api/v1/namespaces": http.StatusOK,
		"GET /apis/eventuallytrue.dev/v1alpha1/namespaces/" + home + "/findings": http.StatusOK,
	}
	for _, request := range forbidden() {
		answers[request] = http.StatusForbidden
	}
	found := w.probe(t, pid, answers)
	if diff := cmp.Diff(answers, found.Answers); diff != "" {
		t.Errorf("answers of the API server (-want +got):\n%s", diff)
	}
	// These three every container has. None outlives the pod, or can be run.
	if diff := cmp.Diff([]string{"/dev/mqueue", "/dev/shm", "/dev/termination-log"}, found.Writable); diff != "" {
		t.Errorf("what can be written to (-want +got):\n%s", diff)
	}
}

// forbidden are requests that must be refused.
func forbidden() []string {
	const core, own = "/api/v1", "/api/v1/namespaces/" + home
	return []string{
		"GET " + core + "/secrets",
		"GET " + own + "/secrets",
		"GET " + core + "/configmaps",
		"GET " + own + "/configmaps",
		"POST " + own + "/configmaps",
		"POST " + own + "/pods",
		"POST " + own + "/serviceaccounts/" + release + "/token",
		"GET " + core + "/nodes",
		"DELETE " + core + "/namespaces/tracking",
		"POST " + core + "/namespaces/tracking/pods",
		"DELETE /apis/networking.k8s.io/v1/namespaces/tracking/networkpolicies/tmp-debug",
		"PUT /apis/networking.k8s.io/v1/namespaces/catalog/ingresses/search",
		"GET /apis/eventuallytrue.dev/v1alpha1/namespaces/tracking/findings",
		"POST /apis/eventuallytrue.dev/v1alpha1/namespaces/tracking/findings",
		"POST /apis/coordination.k8s.io/v1/namespaces/" + home + "/leases",
		"GET /apis/coordination.k8s.io/v1/namespaces/" + home + "/leases/another",
		"PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/audit",
		"POST /apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
		"DELETE /apis/apiextensions.k8s.io/v1/customresourcedefinitions/findings.eventuallytrue.dev",
	}
}

// probe runs this test binary as the user of a process and in its network.
func (w *world) probe(t *testing.T, pid int, requests map[string]int) tried {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	// Where a user without rights can get at it: /run is the node's own.
	const copied = "/run/audit-e2e-probe"
	if err := os.WriteFile(copied, self, 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"--target", fmt.Sprint(pid), "--net", "--setuid", "65532", "--setgid", "65532", copied}
	for request := range requests {
		args = append(args, request)
	}
	slices.Sort(args[len(args)-len(requests):])
	cmd := exec.CommandContext(t.Context(), "nsenter", args...)
	cmd.Env = []string{fmt.Sprintf("%s=%d", probed, pid)}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var found tried
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		t.Fatalf("probe: %v: %s", err, strings.TrimSpace(stderr.String()))
	}
	return found
}
