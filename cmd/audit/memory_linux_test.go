package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/e2e/memapi"
)

// largeCluster serves a cluster in which each of so many namespaces has a workload and no
// policies, which is two findings, and returns a kubeconfig.
func largeCluster(t *testing.T, namespaces int) string {
	t.Helper()
	api := &memapi.Server{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: api}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	url := "http://" + listener.Addr().String()
	post := func(path, body string) {
		resp, err := http.Post(url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("%s: %s", path, resp.Status)
		}
	}
	post("/api/v1/namespaces", `{"metadata":{"name":"audit"}}`)
	for i := range namespaces {
		name := fmt.Sprintf("tenant-%05d", i)
		post("/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"team":"team-%03d"}}}`, name, i%300))
		post("/apis/apps/v1/namespaces/"+name+"/deployments", `{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web"}]}}}}`)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`, url)
	if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

var anonymous = regexp.MustCompile(`(?m)^RssAnon:\s+(\d+) kB$`)

// peak runs the program with the chart's limit of memory, and returns the most memory that
// it had besides its own file, in MiB: the program that runs here is the test's, which is
// larger. The usage that the parent gets would count its own memory, too.
func peak(t *testing.T, program string, args ...string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "GOMEMLIMIT=115MiB"}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	most := 0
	for {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
		if found := anonymous.FindSubmatch(status); err == nil && found != nil {
			kib, _ := strconv.Atoi(string(found[1]))
			most = max(most, kib>>10)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("audit %s: %v: %.2000s", strings.Join(args, " "), err, &errs)
			}
			return most
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// The chart's limit is 128 MiB, of which the program's file takes 30.
func TestTenThousandStoredFindingsFitIntoTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("it stores 10,000 findings")
	}
	const limit = 98
	program := buildAudit(t) // as users get it: without the race detector
	args := []string{"--once", "--publish", "--kubeconfig", largeCluster(t, 5000)}
	for _, what := range []string{"that stores them", "that finds them unchanged"} {
		began := time.Now()
		n := peak(t, program, args...)
		t.Logf("a sweep %s: %d MiB, %s", what, n, time.Since(began).Round(time.Second))
		if n > limit {
			t.Errorf("a sweep %s takes %d MiB, and %d are left", what, n, limit)
		}
	}
}
