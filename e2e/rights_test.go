package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// podHasNoOtherRights checks the process of a pod as the kernel reports it, and tries
// forbidden requests from its network, as its user and with its token.
func podHasNoOtherRights(t *testing.T, w *installation) {
	pid, err := w.PID(t.Context(), home, w.leader(t))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	const none = "0000000000000000"
	expectText(t, string(status), "Uid:\t65532\t65532\t65532\t65532", "Gid:\t65532\t65532\t65532\t65532",
		"CapInh:\t"+none, "CapPrm:\t"+none, "CapEff:\t"+none, "CapBnd:\t"+none, "CapAmb:\t"+none, "NoNewPrivs:\t1", "Seccomp:\t2")
	mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		t.Fatal(err)
	}
	expectText(t, string(mounts), " / / ro,")

	answers := map[string]int{
		// Requests that must succeed, or the others would prove nothing.
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
	// Every container has these three. They don't outlive the pod and can't be executed.
	if diff := cmp.Diff([]string{"/dev/mqueue", "/dev/shm", "/dev/termination-log"}, found.Writable); diff != "" {
		t.Errorf("writable files (-want +got):\n%s", diff)
	}
}

// forbidden returns requests that must be rejected.
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
func (w *installation) probe(t *testing.T, pid int, requests map[string]int) probeResult {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	// In a folder that an unprivileged user can read: /run belongs to the node.
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
	cmd.Env = []string{fmt.Sprintf("%s=%d", probedPID, pid)}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var found probeResult
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		t.Fatalf("probe: %v: %s", err, strings.TrimSpace(stderr.String()))
	}
	return found
}

// probedPID is the environment variable that turns the test binary into a probe. It is the
// id of a process whose user and network the probe runs with.
const probedPID = "AUDIT_E2E_PROBED"

// probeResult is what a probe could do.
type probeResult struct {
	Writable []string       // files and folders, sorted
	Answers  map[string]int // status codes of the API server by "METHOD PATH"
}

// secrets is the folder of a pod's ServiceAccount token.
const secrets = "/var/run/secrets/kubernetes.io/serviceaccount"

func runProbe(out io.Writer) int {
	root := filepath.Join("/proc", os.Getenv(probedPID), "root")
	found, err := probe(root, os.Args[1:])
	if err == nil {
		err = json.NewEncoder(out).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func probe(root string, requests []string) (probeResult, error) {
	found := probeResult{Answers: map[string]int{}}
	var err error
	if found.Writable, err = writable(root); err != nil {
		return found, err
	}
	authority, err := os.ReadFile(filepath.Join(root, secrets, "ca.crt"))
	if err != nil {
		return found, err
	}
	token, err := os.ReadFile(filepath.Join(root, secrets, "token"))
	if err != nil {
		return found, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	client := &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}
	for _, request := range requests {
		method, path, _ := strings.Cut(request, " ")
		// The address of the Service kubernetes.
		r, err := http.NewRequest(method, "https://10.96.0.1"+path, strings.NewReader("{}"))
		if err != nil {
			return found, err
		}
		r.Header.Set("Authorization", "Bearer "+string(token))
		r.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(r)
		if err != nil {
			return found, err
		}
		answer.Body.Close()
		found.Answers[request] = answer.StatusCode
	}
	return found, nil
}

// writable returns the files and folders that this user can write in a root folder, without
// devices, /proc and /sys.
func writable(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root+"/", func(path string, d fs.DirEntry, err error) error {
		name := "/" + strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		switch {
		case name == "/proc" || name == "/sys":
			return fs.SkipDir
		case err != nil:
			return fs.SkipDir // not readable
		case d.Type()&(fs.ModeSymlink|fs.ModeDevice) != 0:
			return nil
		}
		const write = 2
		if syscall.Access(path, write) == nil {
			found = append(found, name)
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}
