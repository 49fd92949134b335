package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/eventuallytrue/audit/audit/api/v1alpha1"
	"github.com/eventuallytrue/audit/e2e/kubetest"
	"github.com/eventuallytrue/audit/e2e/node"
)

// pushgateway is the URL of the Pushgateway, which pods can reach.
const pushgateway = "http://" + node.Host + ":9091"

func (w *installation) startPushgateway(t *testing.T) {
	t.Helper()
	const program = "prometheus-pushgateway"
	path, err := exec.LookPath(program)
	if err != nil {
		missing := "needs " + program + ": install the Debian package of that name"
		if os.Getenv("AUDIT_REQUIRE_TOOLS") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	if err := w.Run(t.Context(), kubetest.Program{
		Path: path,
		Args: []string{
			"--web.listen-address", strings.TrimPrefix(pushgateway, "http://"),
			// Debian's default would keep the data of earlier runs.
			"--persistence.file", filepath.Join(w.Dir, "pushed"),
		},
		Ready: func(ctx context.Context) bool {
			_, code, err := get(ctx, pushgateway+"/-/ready")
			return err == nil && code == http.StatusOK
		},
	}); err != nil {
		t.Fatal(err)
	}
}

func get(ctx context.Context, url string) (text string, code int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), answer.StatusCode, err
}

// expectPushed checks that the last sweep pushed the counts of the stored findings, and
// that it was complete without failures.
func (w *installation) expectPushed(t *testing.T) {
	t.Helper()
	text, _, err := get(t.Context(), pushgateway+"/metrics")
	if err != nil {
		t.Fatal(err)
	}
	found := w.findings(t)
	for _, row := range []struct {
		metric, label string
		want          int
	}{
		{"audit_findings", `state="open"`, len(in(found, v1alpha1.StateOpen))},
		{"audit_findings", `state="resolved"`, len(in(found, v1alpha1.StateResolved))},
		{"audit_sweep_complete", `cluster="tallow-lane-eu-1"`, 1},
		{"audit_sweep_failures", "", 0},
	} {
		if got, series := sum(t, text, row.metric, row.label); got != float64(row.want) || series == 0 {
			t.Errorf("%s{%s} is %v in %d series, want %d", row.metric, row.label, got, series, row.want)
		}
	}
	if attempt, _ := sum(t, text, "audit_last_attempt_timestamp_seconds", ""); attempt == 0 {
		t.Error("the time of the last attempt is missing")
	}
}

// sum adds and counts the values of a metric's series with a label.
func sum(t *testing.T, text, metric, label string) (total float64, series int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, metric+"{") || !strings.Contains(line, label) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]), 64)
		if err != nil {
			t.Fatalf("read %s: %v", line, err)
		}
		total += value
		series++
	}
	return total, series
}
