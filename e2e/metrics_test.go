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

// pushgateway is where the real one listens, which pods can reach.
const pushgateway = "http://" + node.Host + ":9091"

func (w *installation) startPushgateway(t *testing.T) {
	t.Helper()
	const program = "prometheus-pushgateway"
	path, err := exec.LookPath(program)
	if err != nil {
		missing := "this machine lacks " + program + ", which is a package of Debian's"
		if os.Getenv("AUDIT_REQUIRE_TOOLS") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	if err := w.Run(t.Context(), kubetest.Program{
		Path: path,
		Args: []string{
			"--web.listen-address", strings.TrimPrefix(pushgateway, "http://"),
			// As Debian has it, it would remember what others were pushed.
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

// expectPushed checks that the last sweep told the Pushgateway of the findings that
// are stored, and that it was complete and nothing in it failed.
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
		t.Error("there is no time of the last sweep")
	}
}

// sum adds the values of a metric's series that have a label, and counts them.
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
