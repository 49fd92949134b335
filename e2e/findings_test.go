package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
)

// findings returns the stored findings by name, without those that have no status yet.
func (w *installation) findings(t *testing.T) map[string]v1alpha1.Finding {
	t.Helper()
	var list v1alpha1.FindingList
	if err := json.Unmarshal([]byte(w.kubectl(t, "get", "findings", "-n", home, "-o", "json")), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]v1alpha1.Finding{}
	for i := range list.Items {
		if list.Items[i].Status != nil {
			found[list.Items[i].Name] = list.Items[i]
		}
	}
	return found
}

// in returns the sorted names of the findings in a state.
func in(found map[string]v1alpha1.Finding, state v1alpha1.State) []string {
	names := []string{}
	for name := range found {
		if found[name].Status.State == state {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// expectOpen compares the open findings with the wanted ones.
func (w *installation) expectOpen(t *testing.T, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, in(w.findings(t), v1alpha1.StateOpen)); diff != "" {
		t.Errorf("open findings (-want +got):\n%s", diff)
	}
}

// audit returns a command that runs the program outside the cluster.
func (w *installation) audit(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	args = append([]string{"--once", "--config", policy, "--slack-api-url", w.slack.url}, args...)
	cmd := exec.CommandContext(t.Context(), w.program, args...)
	cmd.Env = append(cmd.Environ(), "KUBECONFIG="+w.Kubeconfig(kubetest.Admin), "AUDIT_SLACK_TOKEN="+slackToken)
	return cmd
}

// idsOf returns the sorted ids of the findings of a read-only sweep outside the cluster.
func (w *installation) idsOf(t *testing.T, args ...string) []string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := w.audit(t, append(args, "--fail-on", "none", "-o", "json")...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	var report struct{ Findings []struct{ ID string } }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(report.Findings))
	for i, f := range report.Findings {
		ids[i] = f.ID
	}
	slices.Sort(ids)
	return ids
}
