package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/eventuallytrue/audit/notify/report"
)

// TestNoAPIServer sweeps servers that are not API servers: the report must not look
// like that of a cluster without findings.
func TestNoAPIServer(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		code int
		body string
		want string
	}{
		{"404 for everything", http.StatusNotFound, "404 page not found\n", "is it a Kubernetes API server?"},
		{"404 as HTML", http.StatusNotFound, "<html><body><h1>Not Found</h1></body></html>", "is it a Kubernetes API server?"},
		{"HTML", http.StatusOK, "<html><body>Welcome</body></html>", ""},
		{"an empty JSON object", http.StatusOK, "{}", ""},
		{"nothing", http.StatusOK, "", ""},
	}
	waits := map[string]func() outcome{}
	for _, row := range rows {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if strings.HasPrefix(row.body, "{") {
				w.Header().Set("Content-Type", "application/json")
			}
			w.WriteHeader(row.code)
			_, _ = w.Write([]byte(row.body))
		}))
		t.Cleanup(server.Close)
		// All at once, because each one retries for a while.
		waits[row.name] = launch(t, "--once", "--server", server.URL, "--kubeconfig", os.DevNull)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got := waits[row.name]()
			checkUnknown(t, got)
			if !strings.Contains(strings.Join(strings.Fields(got.stdout), " "), row.want) {
				t.Errorf("the report does not contain %q:\n%s", row.want, got.stdout)
			}
		})
	}
}

// TestUnreachableServer: the report has one reason for all kinds, without a long wait.
func TestUnreachableServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + listener.Addr().String()
	listener.Close() // no server listens there now
	began := time.Now()
	got := spawn(t, "--once", "--server", url, "--kubeconfig", os.DevNull)
	if took := time.Since(began); took > patience+5*time.Second { // other tests run at the same time
		t.Errorf("gave up after %v", took)
	}
	checkUnknown(t, got)
	if !strings.Contains(got.stdout, "Check the context, and that the server can be reached from here:\n") {
		t.Errorf("no next step in\n%s", got.stdout)
	}
	if n := strings.Count(got.stdout, "connection refused"); n != 1 {
		t.Errorf("the reason is printed %d times:\n%s", n, got.stdout)
	}
}

// TestSlowServer: a person who waits learns what for.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	url, _ := silentServer(t)
	got := spawn(t, "--once", "--server", url, "--kubeconfig", os.DevNull, "--timeout", "4s")
	want := "audit: " + url + " has not responded yet, waiting for up to 4s (--timeout)\n"
	if got.code != exitIncomplete || got.stderr != want {
		t.Errorf("exit %d, standard error %q, want %q", got.code, got.stderr, want)
	}
}

// TestRefusedByTheServer: the report says what to do, and a name that anybody may have is
// not pasted into a command.
func TestRefusedByTheServer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name      string
		code      int
		message   string
		want, not string
	}{
		{"not logged in", 401, "Unauthorized", "Log in again: ", "kubectl apply"},
		{
			"no right", 403, `pods is forbidden: User "jane" cannot list resource "pods" in API group "" at the cluster scope`,
			"\n               audit config rights | kubectl apply -f -\n" +
				"               kubectl create clusterrolebinding audit-read-only --clusterrole=audit-read-only --user=jane\n", "Log in again",
		},
		{
			"no right of a service account", 403, `pods is forbidden: User "system:serviceaccount:ci:sweeper" cannot list resource "pods"`,
			" --serviceaccount=ci:sweeper\n", "--user=",
		},
		{"a name that a shell would run", 403, `pods is forbidden: User "$(reboot)" cannot list resource "pods"`, " --user=ME\n", "=$("},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				reason := map[int]string{401: "Unauthorized", 403: "Forbidden"}[row.code]
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(row.code)
				_ = json.NewEncoder(w).Encode(map[string]any{
					"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": row.code, "reason": reason, "message": strings.ReplaceAll(row.message, "pods", path.Base(r.URL.Path)),
				})
			}))
			t.Cleanup(server.Close)
			got := spawn(t, "--once", "--server", server.URL, "--kubeconfig", os.DevNull)
			checkUnknown(t, got)
			if strings.Count(got.stdout, row.want) != 1 || strings.Contains(got.stdout, row.not) || strings.Count(got.stdout, "\n") > 20 {
				t.Errorf("want %q once and no %q in\n%s", row.want, row.not, got.stdout)
			}
		})
	}
}

// TestTimeout: kinds that were not read in time are unknown.
func TestTimeout(t *testing.T) {
	t.Parallel()
	url, _ := silentServer(t)
	began := time.Now()
	got := spawn(t, "--once", "--server", url, "--kubeconfig", os.DevNull, "--timeout", "300ms")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("ended after %v", took)
	}
	checkUnknown(t, got)
	if n := strings.Count(got.stdout, "timed out before the list was complete"); n != 1 {
		t.Errorf("the reason is printed %d times:\n%s", n, got.stdout)
	}
}

// TestBadKubeconfig: nothing was requested yet, so the error is one of usage.
func TestBadKubeconfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"garbage":  "clusters: [",
		"no-known": `{"apiVersion": "v1", "kind": "Config", "current-context": "gone"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name, want string
		args       []string
	}{
		{"missing file", "no such file", []string{"--kubeconfig", filepath.Join(dir, "gone")}},
		{"not YAML", "error loading config file", []string{"--kubeconfig", filepath.Join(dir, "garbage")}},
		{"an unknown context", `context "other" does not exist`, []string{"--kubeconfig", os.DevNull, "--context", "other"}},
		{"its current context is unknown", "specified context: gone", []string{"--kubeconfig", filepath.Join(dir, "no-known")}},
		{"an invalid server URL", "", []string{"--kubeconfig", os.DevNull, "--server", "::"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, format := range report.Formats() {
				got := spawn(t, append(row.args, "--once", "-o", string(format))...)
				if got.code != exitUsage || got.stdout != "" {
					t.Errorf("exit %d, want %d; standard output %q", got.code, exitUsage, got.stdout)
				}
				if strings.Count(got.stderr, "\n") != 1 || !strings.HasPrefix(got.stderr, "audit: connect to the cluster: ") ||
					!strings.Contains(got.stderr, row.want) {
					t.Errorf("standard error %q, want one line with %q", got.stderr, row.want)
				}
			}
		})
	}
}
