package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/notify/report"
)

// TestLiveSweepSaysWhatManifestsSay applies the estate to a real API server and
// compares the live sweep with the sweep of the manifests.
func TestLiveSweepSaysWhatManifestsSay(t *testing.T) {
	c := control.Cluster(t)
	applyEstate(t, c)
	for _, row := range []struct {
		name string
		args []string
	}{
		{"without config", nil},
		{"with config", []string{"--config", estateConfig}},
		{"in one namespace", []string{"-n", "campaigns"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			live := sweep(t, exitFindings, append(row.args, "--kubeconfig", c.Kubeconfig(kubetest.Admin))...)
			manifests := sweep(t, exitFindings, append(row.args, "--from", estateDir)...)
			compareReports(t, manifests, live)
		})
	}
}

// TestLiveSweepNamesTheContext because users know a cluster by that name.
func TestLiveSweepNamesTheContext(t *testing.T) {
	c := control.Cluster(t)
	if r := sweep(t, 0, "--kubeconfig", c.Kubeconfig(kubetest.Admin)); r.Cluster != "kubetest" || !r.Complete {
		t.Errorf("cluster %q, complete %t", r.Cluster, r.Complete)
	}
}

// TestExportSaysWhatTheClusterSays runs the kubectl command of the help: a kind
// that it left out would be evaluated as if it had no objects.
func TestExportSaysWhatTheClusterSays(t *testing.T) {
	_, command, ok := strings.Cut(execute("--help").stdout, "\n  kubectl ")
	command, _, piped := strings.Cut(command, " | audit --once --from -\n")
	if !ok || !piped {
		t.Fatal("the help has no kubectl command to pipe into audit")
	}
	c := control.Cluster(t)
	applyEstate(t, c)
	file := filepath.Join(t.TempDir(), "export.yaml")
	if err := os.WriteFile(file, []byte(kubectl(t, c, strings.Fields(command)...)), 0o600); err != nil {
		t.Fatal(err)
	}
	live := sweep(t, exitFindings, "--kubeconfig", c.Kubeconfig(kubetest.Admin))
	compareReports(t, live, sweep(t, exitFindings, "--from", file))
}

// applyEstate applies the estate as a user does. What apply leaves out, the
// status of the Job that has finished, is set after it.
func applyEstate(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	kubectl(t, c, "apply", "--server-side", "-R", "-f", estateDir)
	kubectl(t, c, "patch", "job", "ledger-migrate-19", "-n", "payments", "--subresource", "status", "--type", "merge", "-p", `{
		"status": {
			"startTime": "2026-04-14T20:00:12Z", "completionTime": "2026-04-14T20:03:55Z", "succeeded": 1,
			"conditions": [
				{"type": "SuccessCriteriaMet", "status": "True"},
				{"type": "Complete", "status": "True"}
			]
		}
	}`)
}

func kubectl(t *testing.T, c *kubetest.Cluster, args ...string) string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// compareReports compares what two sweeps of the same objects say, except for the
// times, which an API server sets itself.
func compareReports(t *testing.T, want, got *report.Report) {
	t.Helper()
	if diff := cmp.Diff(want.Kinds, got.Kinds, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	compareEvaluations(t, want, got)
}

// TestFixesEndTheirFindings applies every object that is printed as a fix, as a user does:
// its findings are gone in the next sweep, and no other one was opened.
func TestFixesEndTheirFindings(t *testing.T) {
	c := control.Cluster(t)
	applyEstate(t, c)
	at := []string{"--kubeconfig", c.Kubeconfig(kubetest.Admin)}
	before := map[string]bool{}
	ended := map[string]string{}
	var files []string
	for _, f := range sweep(t, exitFindings, at...).Findings {
		before[f.ID] = true
		if !strings.Contains(f.Fix, "\nkind: ") {
			continue
		}
		printed := execute(append([]string{"explain", f.ID, "--fix"}, at...)...)
		if printed.code != 0 || printed.stdout != f.Fix {
			t.Fatalf("audit explain %s --fix: exit code %d, got\n%s%s\nwant\n%s", f.ID, printed.code, printed.stdout, printed.stderr, f.Fix)
		}
		ended[f.ID] = f.Message
		files = append(files, filepath.Join(t.TempDir(), "fix.yaml"))
		if err := os.WriteFile(files[len(files)-1], []byte(printed.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		kubectl(t, c, "apply", "--server-side", "--force-conflicts", "-f", file)
	}
	if len(ended) < 5 {
		t.Errorf("%d findings have an object to apply, want at least 5", len(ended))
	}
	for _, f := range sweep(t, exitFindings, at...).Findings {
		if !before[f.ID] {
			t.Errorf("opened: %s", f.Message)
		}
		if ended[f.ID] != "" {
			t.Errorf("not ended: %s", f.Message)
		}
	}
}
